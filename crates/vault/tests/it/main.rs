//! Reading secrets, and the token that they are read with, from a Vault that is a stub: faults and lives of tokens that a
//! real one shows only after long.

#![expect(clippy::unwrap_used, reason = "shared steps of tests")]

mod real;
mod stub;

use std::time::Duration;

use cts_testkit::{assert_contains, eventually};
use cts_tls::ClientFiles;
use cts_vault::{SettingsError, Vault, VaultError, VaultSettings};
use secrecy::SecretString;
use serde_json::json;
use stub::Stub;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const DEADLINE: Duration = Duration::from_secs(20);

fn settings(stub: &Stub) -> VaultSettings {
    VaultSettings {
        address: format!("http://{}", stub.address),
        namespace: String::new(),
        token: Some(SecretString::from("root")),
        token_file: None,
        renew_token: false,
        unwrap_token: false,
        tls: ClientFiles::default(),
        server_name: None,
        connect_timeout: Duration::from_secs(5),
        timeout: Duration::from_secs(5),
    }
}

fn vault(stub: &Stub) -> Vault {
    Vault::new(settings(stub)).unwrap()
}

/// The error with its causes.
fn report(error: &VaultError) -> String {
    cts_core::Chain(error).to_string()
}

#[tokio::test]
async fn a_versioned_store_is_read_by_the_path_that_people_write() {
    let stub = Stub::start().await;
    let data = json!({"lease_id": "", "lease_duration": 0, "renewable": false,
        "data": {"data": {"password": "p"}, "metadata": {"version": 3}}});
    stub.has("GET team/kv/data/edge/lb", 200, data.clone());
    stub.has("GET team/kv/data/edge/lb?version=3", 200, data);
    for path in ["edge/lb", "data/edge/lb"] {
        stub.mounted(&format!("team/kv/{path}"), "team/kv/", "2");
    }
    let vault = vault(&stub);
    for path in [
        "team/kv/edge/lb",
        "/team/kv/data/edge/lb",
        "team/kv/edge/lb?version=3",
    ] {
        let secret = vault.read(path).await.unwrap().unwrap();
        assert_eq!(secret["Data"]["data"]["password"], "p", "{path}");
        assert_eq!(secret["LeaseDuration"], 0);
    }
    stub.has(
        "GET team/kv/metadata/edge?list=true",
        200,
        json!({"data": {"keys": ["lb", "sub/"]}}),
    );
    stub.has(
        "GET team/kv/metadata?list=true",
        200,
        json!({"data": {"keys": ["edge/"]}}),
    );
    stub.mounted("team/kv/edge", "team/kv/", "2");
    stub.mounted("team/kv", "team/kv/", "2");
    let names = vault.list("team/kv/edge/").await.unwrap();
    assert_eq!(names.unwrap(), ["lb", "sub/"]);
    assert_eq!(vault.list("team/kv").await.unwrap().unwrap(), ["edge/"]);
}

#[tokio::test]
async fn other_paths_are_taken_as_they_are() {
    let stub = Stub::start().await;
    let secret = json!({"lease_id": "database/creds/x/1", "lease_duration": 60, "renewable": true, "data": {"username": "u"}});
    stub.has("GET kv1/a%20b%3Fc", 200, secret.clone());
    stub.has("GET database/creds/x", 200, secret);
    stub.mounted("kv1/a%20b%3Fc", "kv1/", "1");
    let vault = vault(&stub);
    // The stub has no answer about the mount of the second path.
    let secret = vault.read("database/creds/x").await.unwrap().unwrap();
    assert_eq!(
        (&secret["Data"]["username"], &secret["LeaseID"]),
        (&json!("u"), &json!("database/creds/x/1"))
    );
    assert_eq!(vault.read("none/x").await.unwrap(), None);
    assert_eq!(vault.list("none").await.unwrap(), None);
    for path in ["", "a//b", "../sys/seal", "a/./b", "a/.."] {
        let error = vault.read(path).await.unwrap_err();
        assert!(
            matches!(error, VaultError::InvalidPath(_)),
            "{path}: {error}"
        );
    }
}

#[tokio::test]
async fn a_deleted_version_is_not_there() {
    let stub = Stub::start().await;
    stub.mounted("kv/x", "kv/", "2");
    let deleted =
        json!({"data": {"data": null, "metadata": {"deletion_time": "2026-01-01T00:00:00Z"}}});
    stub.has("GET kv/data/x", 404, deleted.clone());
    assert_eq!(vault(&stub).read("kv/x").await.unwrap(), None);
    stub.has("GET kv/data/x", 200, deleted);
    assert_eq!(vault(&stub).read("kv/x").await.unwrap(), None);
}

#[tokio::test]
async fn refusals_are_said_in_words() {
    let stub = Stub::start().await;
    stub.has(
        "GET sys/internal/ui/mounts/kv/x",
        403,
        json!({"errors": ["preflight"]}),
    );
    stub.has(
        "GET kv/x",
        403,
        json!({"errors": ["1 error occurred:\n\t* permission denied\n\n"]}),
    );
    let error = vault(&stub).read("kv/x").await.unwrap_err();
    assert!(report(&error).contains("permission denied"), "{error}");

    stub.has("GET kv/x", 503, json!({"errors": ["Vault is sealed"]}));
    let error = vault(&stub).read("kv/x").await.unwrap_err();
    assert!(matches!(error, VaultError::Sealed), "{error}");

    stub.has("GET kv/x", 500, json!("?"));
    let error = vault(&stub).read("kv/x").await.unwrap_err();
    assert!(report(&error).contains("Vault refuses with 500"), "{error}");

    let with_token = |token: Option<&str>| VaultSettings {
        token: token.map(SecretString::from),
        ..settings(&stub)
    };
    let other = Vault::new(with_token(Some("other-token"))).unwrap();
    let error = other.read("kv/x").await.unwrap_err();
    assert!(report(&error).contains("permission denied"), "{error}");
    assert!(!format!("{other:?} {}", report(&error)).contains("other-token"));
    let none = Vault::new(with_token(None)).unwrap();
    assert!(matches!(none.read("kv/x").await, Err(VaultError::NoToken)));
    let strange = Vault::new(with_token(Some("a\nb"))).unwrap();
    assert!(matches!(
        strange.read("kv/x").await,
        Err(VaultError::InvalidToken)
    ));
}

#[tokio::test]
async fn a_vault_that_does_not_answer_is_not_waited_for() {
    let stub = Stub::start().await;
    stub.change(|contents| contents.delay = Duration::from_mins(1));
    let impatient = VaultSettings {
        timeout: Duration::from_millis(300),
        ..settings(&stub)
    };
    let error = Vault::new(impatient)
        .unwrap()
        .read("kv/x")
        .await
        .unwrap_err();
    assert!(matches!(error, VaultError::Unreachable(_)), "{error}");

    let nowhere = VaultSettings {
        address: "http://127.0.0.1:1".to_owned(),
        ..settings(&stub)
    };
    let error = Vault::new(nowhere).unwrap().read("kv/x").await.unwrap_err();
    assert!(
        report(&error).starts_with("cannot reach Vault: "),
        "{error}"
    );
}

#[tokio::test]
async fn a_token_goes_to_no_other_host() {
    let stub = Stub::start().await;
    stub.has("GET kv1/x", 200, json!({"data": {"a": "b"}}));
    let own = settings(&stub).address;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let standby = VaultSettings {
        address: format!("http://{}", listener.local_addr().unwrap()),
        ..settings(&stub)
    };
    let redirect = async |to: &str| {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            let request = String::from_utf8_lossy(&request[..length]);
            let path = request.split(' ').nth(1).unwrap();
            let answer = format!(
                "HTTP/1.1 307 x\r\nLocation: {to}{path}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    };
    let vault = Vault::new(standby).unwrap();
    let elsewhere = own.replace("127.0.0.1", "localhost");
    let refused = tokio::select! {
        read = vault.read("kv1/x") => read.unwrap_err(),
        () = redirect(&elsewhere) => unreachable!("it goes on"),
    };
    assert!(
        matches!(&refused, VaultError::Redirected(host) if host == "localhost"),
        "{refused}"
    );
    let read = tokio::select! {
        read = vault.read("kv1/x") => read,
        () = redirect(&own) => unreachable!("it goes on"),
    };
    read.unwrap();
}

#[tokio::test]
async fn a_vault_that_speaks_no_tls_is_said_in_these_words() {
    let stub = Stub::start().await;
    let secure = VaultSettings {
        address: settings(&stub).address.replace("http://", "https://"),
        ..settings(&stub)
    };
    let error = Vault::new(secure).unwrap().read("kv/x").await.unwrap_err();
    assert!(
        report(&error).starts_with("cannot reach Vault, which answers in plain HTTP: the address should begin with http://: "),
        "{error}"
    );
}

#[tokio::test]
async fn a_namespace_goes_with_every_request() {
    let stub = Stub::start().await;
    stub.change(|contents| contents.namespace = "team".to_owned());
    stub.has("GET kv1/x", 200, json!({"data": {"a": "b"}}));
    let settings = VaultSettings {
        namespace: "team".to_owned(),
        ..settings(&stub)
    };
    assert!(
        Vault::new(settings)
            .unwrap()
            .read("kv1/x")
            .await
            .unwrap()
            .is_some()
    );
    assert!(vault(&stub).read("kv1/x").await.is_err());
}

#[tokio::test]
async fn a_token_in_a_file_is_the_one_that_is_there_now() {
    let stub = Stub::start().await;
    stub.has("GET kv1/x", 200, json!({"data": {"a": "b"}}));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    let settings = VaultSettings {
        token: None,
        token_file: Some(file.clone()),
        ..settings(&stub)
    };
    let vault = Vault::new(settings).unwrap();
    assert!(matches!(
        vault.read("kv1/x").await,
        Err(VaultError::TokenFile { .. })
    ));
    std::fs::write(&file, " \n").unwrap();
    assert!(matches!(
        vault.read("kv1/x").await,
        Err(VaultError::TokenFile { .. })
    ));
    std::fs::write(&file, "root\n").unwrap();
    assert!(vault.read("kv1/x").await.unwrap().is_some());
    stub.change(|contents| contents.tokens = vec!["next".to_owned()]);
    assert!(vault.read("kv1/x").await.is_err());
    std::fs::write(&file, "next").unwrap();
    assert!(vault.read("kv1/x").await.unwrap().is_some());
}

#[tokio::test]
async fn a_wrapped_token_is_unwrapped_once() {
    let stub = Stub::start().await;
    stub.change(|contents| contents.tokens = vec!["wrapping".to_owned(), "inner".to_owned()]);
    stub.has(
        "POST sys/wrapping/unwrap",
        200,
        json!({"auth": {"client_token": "inner"}}),
    );
    stub.has("GET kv1/x", 200, json!({"data": {"a": "b"}}));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    // As an agent writes it.
    std::fs::write(&file, "{\"token\": \"wrapping\", \"ttl\": 300}").unwrap();
    let settings = VaultSettings {
        unwrap_token: true,
        token: None,
        token_file: Some(file.clone()),
        ..settings(&stub)
    };
    let vault = Vault::new(settings).unwrap();
    for _ in 0..3 {
        assert!(vault.read("kv1/x").await.unwrap().is_some());
    }
    let unwraps = |asked: Vec<String>| {
        asked
            .iter()
            .filter(|asked| asked.contains("unwrap"))
            .count()
    };
    assert_eq!(unwraps(stub.asked()), 1);
    stub.has(
        "POST sys/wrapping/unwrap",
        400,
        json!({"errors": ["wrapping token is not valid or does not exist"]}),
    );
    std::fs::write(&file, "inner").unwrap();
    let error = vault.read("kv1/x").await.unwrap_err();
    assert_contains(report(&error), ["wrapping token is not valid"]);
}

#[tokio::test]
async fn a_token_is_renewed_before_its_life_is_over() {
    let stub = Stub::start().await;
    stub.has(
        "GET auth/token/lookup-self",
        200,
        json!({"data": {"ttl": 2, "renewable": true}}),
    );
    stub.has(
        "POST auth/token/renew-self",
        200,
        json!({"auth": {"lease_duration": 2, "renewable": true}}),
    );
    let settings = VaultSettings {
        renew_token: true,
        ..settings(&stub)
    };
    let vault = Vault::new(settings).unwrap();
    let mut keeping = tokio::task::JoinSet::new();
    keeping.spawn(async move { match vault.keep_token().await {} });
    let mut renewals = 0;
    eventually(DEADLINE, async || {
        renewals += stub
            .asked()
            .iter()
            .filter(|asked| asked.contains("renew"))
            .count();
        match renewals {
            3.. => Ok(()),
            few => Err(format!("{few} renewals")),
        }
    })
    .await;
}

#[tokio::test]
async fn refuses_invalid_addresses() {
    let stub = Stub::start().await;
    for address in [
        "",
        "vault:8200",
        "unix:///run/vault",
        "http://u:p@vault",
        "http://",
    ] {
        let settings = VaultSettings {
            address: address.to_owned(),
            ..settings(&stub)
        };
        let error = Vault::new(settings).unwrap_err();
        assert!(
            matches!(error, SettingsError::InvalidAddress),
            "{address}: {error}"
        );
    }
}
