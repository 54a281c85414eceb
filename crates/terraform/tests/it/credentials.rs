//! Credentials of backends and providers on disk.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use cts_core::{Backend, ProviderBlock, ProviderId};
use cts_terraform::Preparation;
use cts_testkit::{Postgres, assert_contains};
use serde_json::{Map, json};

use crate::fixture::{KEEPS_SERVICES, Sandbox, instance};

/// A task whose state is in Postgres.
async fn sandbox_in_postgres() -> (Sandbox, String) {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let database = Postgres::shared().await.create_database().await;
    let (user, host) = database.split_once('@').unwrap();
    let connection = |password: &str| format!("{user}:{password}@{host}?sslmode=disable");
    use_backend(&mut sandbox, &connection("password-of-edge"));
    (sandbox, connection("another-password"))
}

fn use_backend(sandbox: &mut Sandbox, connection: &str) {
    let arguments = [
        ("conn_str", json!(connection)),
        ("schema_name", json!("edge")),
    ];
    sandbox.settings.backend = Backend {
        kind: "pg".into(),
        arguments: arguments
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<Map<_, _>>(),
    };
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_directory_of_an_earlier_version_and_another_password_keep_the_state() {
    let (mut sandbox, changed) = sandbox_in_postgres().await;
    let root = sandbox.write(vec![instance("a", "x")]);
    let main = sandbox.directory().path().join("main.tf");
    let text = fs::read_to_string(&main).unwrap();
    assert!(text.contains("schema_name = \"edge\""), "{text}");
    assert!(!text.contains("password-of-edge"), "{text}");

    // As earlier versions wrote it.
    let connection = sandbox.settings.backend.arguments["conn_str"].to_string();
    let with_credentials = format!("schema_name = \"edge\"\n    conn_str = {connection}");
    let earlier = text.replace("schema_name = \"edge\"", &with_credentials);
    fs::write(&main, &earlier).unwrap();
    let (attempt, _lines) = sandbox.attempt();
    sandbox.terraform.init(&attempt, None).await.unwrap();
    sandbox.terraform.apply(&attempt).await.unwrap();

    fs::write(&main, &text).unwrap();
    for connection in [None, Some(changed)] {
        let root = match connection {
            None => root.clone(),
            Some(connection) => {
                use_backend(&mut sandbox, &connection);
                sandbox.write(vec![instance("a", "x")])
            }
        };
        let prepared = sandbox.terraform.prepare(&attempt, &root).await.unwrap();
        assert_ne!(prepared, Preparation::Reused);
        let plan = sandbox.terraform.plan(&attempt).await.unwrap();
        assert!(!plan.changes_present, "{}", plan.text);
        let again = sandbox.terraform.prepare(&attempt, &root).await.unwrap();
        assert_eq!(again, Preparation::Reused);
    }
    let directory = sandbox.directory().path().to_owned();
    assert!(!directory.join("backend.tfbackend").exists());
    assert_eq!(mode(&directory.join(".terraform/terraform.tfstate")), 0o600);
}

#[tokio::test]
async fn files_with_secrets_are_for_their_owner_and_follow_no_link() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let arguments = json!({"password": "password-of-edge"});
    sandbox.settings.providers = vec![ProviderBlock {
        name: "dns".into(),
        alias: None,
        arguments: arguments.as_object().unwrap().clone(),
        blocks: std::collections::BTreeSet::new(),
        task_env: BTreeMap::new(),
    }];
    sandbox.definition.providers = vec![ProviderId::from("dns")];
    let outside = sandbox.path().join("outside");
    fs::write(&outside, "before").unwrap();
    let file = sandbox.directory().path().join("providers.auto.tfvars");
    fs::create_dir_all(sandbox.directory().path()).unwrap();
    symlink(&outside, &file).unwrap();

    let root = sandbox.write(Vec::new());
    assert_eq!(fs::read_to_string(&outside).unwrap(), "before");
    assert_contains(fs::read_to_string(&file).unwrap(), ["password-of-edge"]);
    assert!(!fs::symlink_metadata(&file).unwrap().is_symlink());
    assert_eq!(mode(&file), 0o600);

    drop(sandbox.directory().secrets_of(&root));
    assert!(!file.exists());
    assert!(sandbox.directory().path().join("main.tf").exists());
}
