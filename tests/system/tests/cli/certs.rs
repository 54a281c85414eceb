//! `cts certs`: an authority, and certificates with roles.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use cts_testkit::assert_contains;
use serde_json::Value;

use crate::cli::calls::{OURS, Place};

const MAKE: [&str; 5] = ["certs", "-dir", "tls", "-domain", "cts.example"];

#[tokio::test]
async fn certificates_of_all_services_are_made() {
    let place = Place::new();
    let called = place.call(OURS, &MAKE).await;
    assert_eq!(called.code, 0, "{called:?}");
    assert_contains(
        &called.stdout,
        [
            "ca.pem: an authority; keep ",
            "worker.pem: worker.cts.example\n",
            "operator.pem: operator.cts.example\n",
            "The certificates end on ",
        ],
    );
    let directory = place.path().join("tls");
    let names: BTreeSet<String> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let stems = [
        "ca",
        "gateway",
        "operator",
        "scheduler",
        "watcher",
        "worker",
    ];
    let expected = stems.map(|stem| [format!("{stem}.pem"), format!("{stem}-key.pem")]);
    assert_eq!(names, expected.into_iter().flatten().collect());
    for name in names {
        let mode = fs::metadata(directory.join(&name))
            .unwrap()
            .permissions()
            .mode();
        let expected = if name.ends_with("-key.pem") {
            0o600
        } else {
            0o644
        };
        assert_eq!(mode & 0o777, expected, "{name}");
    }
}

#[tokio::test]
async fn files_are_replaced_only_by_force_and_the_authority_stays() {
    let place = Place::new();
    let read = |name: &str| fs::read_to_string(place.path().join("tls").join(name)).unwrap();
    let roles = [&MAKE[..], &["-role", "worker", "-role", "admin"]].concat();
    assert_eq!(place.call(OURS, &roles).await.code, 0);
    let (authority, worker) = (read("ca.pem"), read("worker.pem"));
    // A further role is made beside the others.
    let further = [&MAKE[..], &["-role=gateway"]].concat();
    assert_eq!(place.call(OURS, &further).await.code, 0);

    let called = place.call(OURS, &MAKE).await;
    assert_eq!((called.code, called.stdout.as_str()), (11, ""));
    assert_contains(
        &called.stderr,
        ["nothing is made", "worker.pem", "gateway-key.pem", "-force"],
    );
    assert_eq!(read("worker.pem"), worker);
    assert!(!place.path().join("tls/watcher.pem").exists());

    let forced = [&MAKE[..], &["-force"]].concat();
    let called = place.call(OURS, &forced).await;
    assert_eq!(called.code, 0, "{called:?}");
    assert_contains(&called.stdout, ["the authority, as it was"]);
    assert_eq!(read("ca.pem"), authority);
    assert_ne!(read("worker.pem"), worker);
}

#[tokio::test]
async fn a_role_gets_a_directory_of_its_own_and_keeps_its_certificate() {
    let place = Place::new();
    let words = [&MAKE[..], &["-per-role", "-keep", "-role=worker"]].concat();
    let read = |name: &str| fs::read_to_string(place.path().join("tls").join(name)).unwrap();
    assert_eq!(place.call(OURS, &words).await.code, 0);
    let (certificate, key) = (read("worker/cert.pem"), read("worker/key.pem"));
    assert_eq!(read("worker/ca.pem"), read("ca.pem"));

    let called = place.call(OURS, &words).await;
    assert_eq!(called.code, 0, "{called:?}");
    assert_contains(&called.stdout, ["Every certificate exists.\n"]);
    let more = [&words[..], &["-role=gateway"]].concat();
    let called = place.call(OURS, &more).await;
    assert_contains(&called.stdout, ["gateway/cert.pem: gateway.cts.example"]);
    assert_eq!(read("worker/cert.pem"), certificate);
    assert_eq!(read("worker/key.pem"), key);

    fs::remove_file(place.path().join("tls/worker/cert.pem")).unwrap();
    assert_eq!(place.call(OURS, &words).await.code, 0);
    assert_ne!(read("worker/cert.pem"), certificate);
    let both = [&MAKE[..], &["-keep", "-force"]].concat();
    assert_eq!(place.call(OURS, &both).await.code, 14);
}

#[tokio::test]
async fn programs_get_paths_and_names() {
    let place = Place::new();
    let more = [
        "-role=worker",
        "-host",
        "worker=10.0.0.7",
        "-host=worker=w1.example",
    ];
    let words = [&MAKE[..], &more, &["-days=30", "-o=json"]].concat();
    let called = place.call(OURS, &words).await;
    let made: Value = serde_json::from_str(&called.stdout).unwrap();
    assert_eq!(made["authority"]["new"], true);
    let [worker] = made["certificates"].as_array().unwrap().as_slice() else {
        panic!("{made}");
    };
    assert_eq!(worker["role"], "worker");
    let names = ["worker.cts.example", "10.0.0.7", "w1.example"];
    assert_eq!(worker["names"], serde_json::json!(names));
    assert_eq!(worker["key"], "[directory]/tls/worker-key.pem");
    assert!(place.path().join("tls/worker-key.pem").exists());
}

#[tokio::test]
async fn a_replaced_certificate_keeps_the_names_of_its_service() {
    let place = Place::new();
    let made = async |more: &[&'static str]| -> Value {
        let roles = ["-role=worker,operator", "-o=json"];
        let called = place.call(OURS, &[&MAKE[..], &roles, more].concat()).await;
        assert_eq!(called.code, 0, "{called:?}");
        serde_json::from_str(&called.stdout).unwrap()
    };
    let made_first = made(&["-local", "-host=worker=w1.example"]).await;
    let worker = &made_first["certificates"][0]["names"];
    let names = ["worker.cts.example", "localhost", "127.0.0.1", "w1.example"];
    assert_eq!(*worker, serde_json::json!(names));
    let operator = &made_first["certificates"][1]["names"];
    assert_eq!(*operator, serde_json::json!(["operator.cts.example"]));
    let again = made(&["-force", "-host=worker=10.0.0.7"]).await;
    let kept: BTreeSet<&str> = again["certificates"][0]["names"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let expected = names.into_iter().chain(["10.0.0.7"]);
    assert_eq!(kept, expected.collect());
    assert_eq!(again["certificates"][1]["names"], *operator);

    place.write("tls/worker.pem", "damaged");
    let words = [&MAKE[..], &["-force", "-role=worker"]].concat();
    let called = place.call(OURS, &words).await;
    assert_eq!(called.code, 11, "{called:?}");
    assert_contains(&called.stderr, ["worker.pem", "remove it first"]);
}

#[tokio::test]
async fn mistakes_are_told_before_anything_is_made() {
    let place = Place::new();
    let with = |more: &'static str| [&MAKE[..], &[more]].concat();
    for (words, part) in [
        (with("-role=boss"), "\"boss\" is no role"),
        (with("-host=w1.example"), "ROLE=NAME"),
        (with("-host=operator=10.0.0.7"), "is not for servers"),
        (
            vec!["certs", "-dir=tls", "-domain=*.example"],
            "no DNS name",
        ),
    ] {
        let called = place.call(OURS, &words).await;
        assert_eq!(called.code, 11, "{called:?}");
        assert_contains(&called.stderr, [part]);
    }
    assert!(!place.path().join("tls").exists());
    assert_eq!(place.call(OURS, &MAKE).await.code, 0);
    fs::remove_file(place.path().join("tls/ca-key.pem")).unwrap();
    let called = place.call(OURS, &with("-force")).await;
    assert_eq!(called.code, 11);
    assert_contains(&called.stderr, ["one half of an authority", "ca.pem"]);
}
