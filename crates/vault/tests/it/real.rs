//! Tests with a real Vault: the stub must answer as Vault does.

use cts_testkit::{VaultServer, eventually};
use cts_tls::ClientFiles;
use cts_vault::{Vault, VaultError, VaultSettings};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{DEADLINE, report};

fn settings(server: &VaultServer, token: &str) -> VaultSettings {
    VaultSettings {
        address: server.address(),
        namespace: String::new(),
        token: Some(SecretString::from(token)),
        token_file: None,
        renew_token: false,
        unwrap_token: false,
        tls: ClientFiles::default(),
        server_name: None,
        connect_timeout: DEADLINE,
        timeout: DEADLINE,
    }
}

fn vault(server: &VaultServer, token: &str) -> Vault {
    Vault::new(settings(server, token)).unwrap()
}

#[tokio::test]
async fn secrets_of_both_kinds_of_stores_are_read() {
    let server = VaultServer::start().await;
    for password in ["old", "new"] {
        let data = json!({"data": {"password": password, "number": 7}});
        server.write("kv/data/edge/lb", data).await;
    }
    let plain = json!({"password": "plain"});
    server.write("kv1/edge/a b", plain).await;
    let vault = vault(&server, server.root_token());
    for path in ["kv/edge/lb", "/kv/data/edge/lb", "kv/edge/lb?version=2"] {
        let secret = vault.read(path).await.unwrap().unwrap();
        assert_eq!(secret["Data"]["data"]["password"], "new", "{path}");
        assert_eq!(secret["Data"]["metadata"]["version"], 2);
    }
    let old = vault.read("kv/edge/lb?version=1").await.unwrap().unwrap();
    assert_eq!(old["Data"]["data"], json!({"password": "old", "number": 7}));
    let plain = vault.read("kv1/edge/a b").await.unwrap();
    assert_eq!(plain.unwrap()["Data"]["password"], "plain");
    assert_eq!(vault.list("kv/edge").await.unwrap().unwrap(), ["lb"]);
    assert_eq!(vault.list("kv1").await.unwrap().unwrap(), ["edge/"]);
    for path in ["kv/none", "kv1/none", "kv/edge/lb?version=9"] {
        assert_eq!(vault.read(path).await.unwrap(), None, "{path}");
    }
    server.delete("kv/data/edge/lb").await;
    assert_eq!(vault.read("kv/edge/lb").await.unwrap(), None, "deleted");
}

#[tokio::test]
async fn a_policy_says_what_a_token_reads() {
    let server = VaultServer::start().await;
    for name in ["edge", "other"] {
        let data = json!({"data": {"password": "p"}});
        let path = format!("kv/data/{name}/lb");
        server.write(&path, data).await;
    }
    let policy = "path \"kv/data/edge/*\" { capabilities = [\"read\"] }";
    let policy = json!({"policy": policy});
    server.write("sys/policies/acl/edge", policy).await;
    let token = server.token(json!({"policies": ["edge"]})).await;
    let vault = vault(&server, &token);
    let secret = vault.read("kv/edge/lb").await.unwrap().unwrap();
    assert_eq!(secret["Data"]["data"]["password"], "p");
    let error = vault.read("kv/other/lb").await.unwrap_err();
    assert!(
        matches!(error, VaultError::Refused { status: 403, .. }),
        "{error}"
    );
    assert!(report(&error).contains("permission denied"), "{error}");
    let revoke = json!({"token": token});
    server.write("auth/token/revoke", revoke).await;
    let error = vault.read("kv/edge/lb").await.unwrap_err();
    assert!(report(&error).contains("permission denied"), "{error}");
}

#[tokio::test]
async fn a_sealed_vault_says_so_until_it_is_unsealed() {
    let server = VaultServer::start().await;
    let vault = vault(&server, server.root_token());
    assert!(vault.read("kv/ready").await.unwrap().is_some());
    server.seal().await;
    let error = vault.read("kv/ready").await.unwrap_err();
    assert!(matches!(error, VaultError::Sealed), "{error}");
    server.unseal().await;
    eventually(DEADLINE, async || match vault.read("kv/ready").await {
        Ok(Some(_)) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
}

#[tokio::test]
async fn a_wrapped_token_is_unwrapped_once() {
    let server = VaultServer::start().await;
    let wrapped = server.wrapped_token().await;
    let with = || {
        let settings = VaultSettings {
            unwrap_token: true,
            ..settings(&server, &wrapped)
        };
        Vault::new(settings).unwrap()
    };
    let first = with();
    for _ in 0..2 {
        assert!(first.read("kv/ready").await.unwrap().is_some());
    }
    let error = with().read("kv/ready").await.unwrap_err();
    assert!(matches!(error, VaultError::Unwrap(_)), "{error}");
}

#[tokio::test]
async fn a_token_that_is_not_renewed_ends() {
    let server = VaultServer::start().await;
    let policies = json!(["root"]);
    let token = server.token(json!({"ttl": "2s", "policies": policies}));
    let vault = vault(&server, &token.await);
    eventually(DEADLINE, async || match vault.read("kv/ready").await {
        Err(VaultError::Refused { status: 403, .. }) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
}

#[tokio::test]
async fn a_token_is_renewed_as_vault_wants_it() {
    let server = VaultServer::start().await;
    let policies = json!(["root"]);
    let token = server.token(json!({"ttl": "5m", "policies": policies}));
    let token = token.await;
    let settings = VaultSettings {
        renew_token: true,
        ..settings(&server, &token)
    };
    let vault = Vault::new(settings).unwrap();
    let mut keeping = tokio::task::JoinSet::new();
    keeping.spawn(async move { match vault.keep_token().await {} });
    eventually(DEADLINE, async || {
        let token = json!({"token": token});
        let found = server.write("auth/token/lookup", token).await;
        match &found["data"]["last_renewal_time"] {
            Value::Number(_) => Ok(()),
            _ => Err(found.to_string()),
        }
    })
    .await;
}
