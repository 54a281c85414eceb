//! Servers that must prove their roles (docs/access.md#servers): every certificate as every server, and clusters in
//! which a server has a wrong one.

use cts_testkit::{Authority, ConsulAgent, eventually, free_port};
use cts_tests::{DEADLINE, Process, Service, Site, met};
use serde_json::Value;

use crate::cluster::scene::Scene;
use crate::cluster::trust::roles::{file, plan, with_certificates};

/// Owners of certificates. The last one has no role.
const OWNERS: [&str; 9] = [
    "watcher",
    "scheduler",
    "worker",
    "gateway",
    "operator",
    "read",
    "operate",
    "admin",
    "none",
];

/// Writes a certificate for servers and clients on this machine, as earlier versions of `cts certs` made them.
fn certify(site: &Site, authority: &Authority, owner: &str, name: &str) {
    site.write("tls/ca.pem", authority.pem());
    authority.write_pair(&site.path().join("tls"), owner, &[name, "127.0.0.1"]);
}

/// A server with the certificate of each owner, and its address. A watcher stands for all of them: clients see no more
/// of a server than its certificate and its health.
fn serve_all(site: &Site, consul: &ConsulAgent) -> Vec<(&'static str, String, Process)> {
    let address = consul.address();
    let consul = format!("consul {{ address = \"{address}\" }}\nworking_dir = \"work\"\n");
    let servers = OWNERS.map(|owner| {
        let own = format!("server-{owner}.hcl");
        site.write(&own, &format!("{consul}{}", file(owner)));
        let address = format!("127.0.0.1:{}", free_port());
        let words = ["watcher", "-config-file", &own, "-grpc-address", &address];
        let process = site.run("cts", &words, &format!("server-{owner}.log"));
        (owner, address, process)
    });
    servers.into()
}

/// Findings of `cts doctor` about the services that a service calls, each with its result.
async fn doctor(site: &Site, role: &str, check: &str) -> Vec<(String, String)> {
    let files = ["-config-file=client.hcl", "-config-file=calls.hcl"];
    let role = format!("-role={role}");
    let words = ["doctor", "-o=json", files[0], files[1], &role];
    let log = format!("doctor-{}.log", free_port());
    let output = site.run("cts", &words, &log).wait().await.output;
    let document: Value = serde_json::from_str(&output).unwrap();
    let checks = document["checks"].as_array().unwrap().iter();
    let of_check = checks.filter(|finding| finding["check"] == check);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    of_check
        .map(|finding| (text(&finding["result"]), text(&finding["found"])))
        .collect()
}

#[tokio::test]
async fn each_client_refuses_the_servers_of_other_roles() {
    let site = Site::new();
    let consul = ConsulAgent::start().await;
    let authority = Authority::new();
    for owner in OWNERS {
        certify(&site, &authority, owner, &format!("{owner}.cts.example"));
    }
    let servers = serve_all(&site, &consul);
    let addresses: Vec<&String> = servers.iter().map(|(_, address, _)| address).collect();
    for (client, called, expected) in [
        ("gateway", "schedulers", "scheduler"),
        ("worker", "schedulers", "scheduler"),
        ("scheduler", "watchers", "watcher"),
    ] {
        site.write("client.hcl", &file(client));
        let calls = format!("services {{ {called} = {addresses:?} }}\n");
        site.write("calls.hcl", &calls);
        eventually(DEADLINE, async || {
            let findings = doctor(&site, client, called).await;
            let all = servers.iter();
            let wrong = all.filter(|(owner, address, _)| {
                let (grade, said) = match *owner {
                    owner if owner == expected => ("ok", "serves".to_owned()),
                    "none" => ("warning", "serves, but security.server_roles".to_owned()),
                    owner => (
                        "warning",
                        format!("another role: {owner} (names: {owner}.cts.example, 127.0.0.1)"),
                    ),
                };
                !findings.iter().any(|(result, found)| {
                    result == grade && found.contains(address) && found.contains(&said)
                })
            });
            let wrong: Vec<_> = wrong.map(|(owner, address, _)| (owner, address)).collect();
            if wrong.is_empty() {
                Ok(())
            } else {
                Err(format!(
                    "{client}: not as expected: {wrong:?} in {findings:?}"
                ))
            }
        })
        .await;
    }
    site.write("health.hcl", &file("operator"));
    for (owner, address, _) in &servers {
        let words = ["health", "-config-file=health.hcl", address];
        let exit = site.run("cts", &words, "health.log").wait().await;
        if Service::ALL.iter().any(|service| service.name() == *owner) || *owner == "none" {
            exit.assert_code(0).says([format!("{address} serves")]);
        } else {
            exit.assert_code(1)
                .says([format!("another role: {owner} ")]);
        }
    }
    site.write(
        "health.hcl",
        &file("operator").replace("service_roles", "server_roles"),
    );
    let (_, address, _) = servers.last().unwrap();
    let words = ["health", "-config-file=health.hcl", address];
    let exit = site.run("cts", &words, "health.log").wait().await;
    exit.assert_code(1)
        .says(["names no role", "security.server_roles"]);
    site.write("strict.hcl", "security { strict = true }\n");
    let files = ["-config-file=server-worker.hcl", "-config-file=strict.hcl"];
    let words = ["watcher", files[0], files[1], "-grpc-address=127.0.0.1:1"];
    let exit = site.run("cts", &words, "strict.log").wait().await;
    exit.assert_code(15).says([
        "security.strict",
        "another role: worker",
        "watcher.cts.example",
    ]);
}

#[tokio::test]
async fn a_worker_cannot_take_the_place_of_the_scheduler() {
    let site = Site::new();
    let plan = plan(&site).await;
    let mut scene = Scene::start_at(site, plan).await;
    scene.cluster.kill(Service::Scheduler, 0).await;
    let address = scene.cluster.grpc_address(Service::Scheduler, 0);
    let grpc = format!("-grpc-address={address}");
    let words = [
        "scheduler",
        &grpc,
        "-config-file=services.hcl",
        "-config-file=cts.hcl",
        "-config-file=of-worker.hcl",
        "-config-file=database.hcl",
    ];
    let impostor = scene.site.run("cts", &words, "impostor.log");
    impostor.until_logged("not safe: the certificate ").await;
    for service in [Service::Worker, Service::Gateway] {
        eventually(DEADLINE, async || {
            let output = scene.cluster.output(service, 0);
            let said = "another role: worker (names: worker.cts.example, localhost, 127.0.0.1)";
            met(output.contains(said), output)
        })
        .await;
    }
    let answer = scene.cluster.api(0).ask("/v1/queue").await;
    assert!(!matches!(answer, Ok((200, _))), "{answer:?}");
    impostor.kill().await;
    scene.cluster.run(Service::Scheduler, 0).await;
    scene.change_is_applied().await;
    scene.settled_events().await;
    scene.assert_each_step_once();
}

#[tokio::test]
async fn a_watcher_without_a_role_is_named_and_works_until_roles_are_required() {
    let site = Site::new();
    let authority = Authority::new();
    for owner in OWNERS {
        certify(&site, &authority, owner, &format!("{owner}.cts.example"));
    }
    certify(&site, &authority, "watcher", "cts.internal");
    let plan = with_certificates(&site).await;
    let mut scene = Scene::start_at(site, plan).await;
    scene.change_is_applied().await;
    let watcher = scene.cluster.grpc_address(Service::Watcher, 0);
    let said = format!(
        "not safe: the certificate of the server at {watcher} names no role (names: cts.internal, 127.0.0.1)"
    );
    let output = scene.cluster.output(Service::Scheduler, 0);
    assert_eq!(output.matches(&said).count(), 1, "{output}");

    scene.cluster.stop(Service::Scheduler, 0).await;
    let required =
        file("scheduler").replace("service_roles", "server_roles = true\n  service_roles");
    scene.site.write("of-scheduler.hcl", &required);
    scene.cluster.launch(Service::Scheduler, 0);
    eventually(DEADLINE, async || {
        let output = scene.cluster.output(Service::Scheduler, 0);
        let refused = output.contains("names no role (names: cts.internal, 127.0.0.1); expected");
        met(refused, output)
    })
    .await;
    certify(&scene.site, &authority, "watcher", "watcher.cts.example");
    scene.change_is_applied().await;
    scene.settled_events().await;
    scene.assert_each_step_once();
}

#[tokio::test]
async fn the_certificate_of_a_person_is_not_for_servers() {
    let site = Site::new();
    let consul = ConsulAgent::start().await;
    let arguments = ["certs", "-dir=tls", "-domain=cts.example"];
    let exit = site.run("cts", &arguments, "certs.log").wait().await;
    exit.assert_code(0);
    let own = file("operator").replace("service_roles = true", "");
    let own = own.replace(
        "  tls {\n",
        "  tls {\n    server_name = \"operator.cts.example\"\n",
    );
    let consul = format!("consul {{ address = \"{}\" }}\n", consul.address());
    site.write("cts.hcl", &format!("{own}{consul}"));
    let address = format!("127.0.0.1:{}", free_port());
    let words = ["watcher", "-config-file=cts.hcl", "-grpc-address", &address];
    let _server = site.run("cts", &words, "server.log");
    let words = ["health", "-config-file=cts.hcl", &address];
    let exit = eventually(DEADLINE, async || {
        let exit = site.run("cts", &words, "health.log").wait().await;
        let answered = exit.code == Some(0) || exit.output.contains("certificate");
        if answered { Ok(exit) } else { Err(exit.output) }
    })
    .await;
    exit.assert_code(1).says(["invalid peer certificate"]);
}
