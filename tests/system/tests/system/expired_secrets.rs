//! A secret of Vault that has expired when the effect is approved (docs/runs.md#consent).

use std::fs;
use std::time::Duration;

use cts_core::Clock as _;
use cts_runtime::SystemClock;
use cts_testkit::{VaultServer, eventually};
use cts_tests::{DEADLINE, LOCAL_BACKEND, Site};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::any_shape::providers::provider_environment::REQUIRED;
use crate::api::scene::Scene;
use crate::system::consent::{approve, effect};

/// Life of each secret.
const LIFE: Duration = Duration::from_secs(2);

/// Each read of the secret makes another one: a token with its time.
const CONFIGURATION: &str = r#"
vault {
  address = "@VAULT@"
  token   = "@TOKEN@"
}

terraform_provider "terraform" {
  task_env {
    "PROBE_SECRET" = "{{ with secret \"identity/oidc/token/probe\" }}{{ .Data.token }}{{ end }}"
  }
}

task {
  name      = "probe"
  module    = "./modules/probe"
  providers = ["terraform"]
  approval  = "always"
  condition "services" { names = ["web"] }
}
"#;

const MODULE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "probe" {
  triggers_replace = keys(var.services)
  provisioner "local-exec" {
    command = "printf '%s\n' \"$PROBE_SECRET\" >>'@SITE@/evidence'"
  }
}
"#;

/// A Vault that gives out such secrets, and a token for them.
async fn vault() -> (VaultServer, String) {
    let vault = VaultServer::start().await;
    for (path, settings) in [
        (
            "identity/oidc/key/probe",
            json!({"allowed_client_ids": ["*"]}),
        ),
        (
            "identity/oidc/role/probe",
            json!({"key": "probe", "ttl": format!("{}s", LIFE.as_secs())}),
        ),
        (
            "sys/policies/acl/probe",
            json!({"policy": "path \"*\" { capabilities = [\"read\", \"update\"] }"}),
        ),
        (
            "auth/token/roles/probe",
            json!({"allowed_entity_aliases": ["probe"], "allowed_policies": ["probe"]}),
        ),
    ] {
        vault.write(path, settings).await;
    }
    let owner = json!({"entity_alias": "probe", "policies": ["probe"]});
    let made = vault.write("auth/token/create/probe", owner).await;
    let token = made["auth"]["client_token"].as_str().unwrap();
    (vault, token.to_owned())
}

/// When the secret was made, and when it expires, in seconds since 1970.
fn times(secret: &str) -> (i64, i64) {
    let claims = secret.split('.').nth(1).unwrap();
    let claims: Value = serde_json::from_slice(&decoded(claims)).unwrap();
    let seconds = |name: &str| claims[name].as_i64().unwrap();
    (seconds("iat"), seconds("exp"))
}

/// The bytes of a text in base64url without padding.
fn decoded(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for digit in text.bytes() {
        let value = DIGITS.iter().position(|it| *it == digit).unwrap();
        bits = bits << 6 | u32::try_from(value).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff).try_into().unwrap());
        }
    }
    bytes
}

#[tokio::test]
async fn an_effect_is_applied_with_the_secret_of_its_apply() {
    let (vault, token) = vault().await;
    let site = Site::new();
    let path = site.path().to_str().unwrap().to_owned();
    site.write("modules/probe/main.tf", &MODULE.replace("@SITE@", &path));
    let configuration = CONFIGURATION
        .replace("@VAULT@", &vault.address())
        .replace("@TOKEN@", &token);
    let driver = LOCAL_BACKEND.to_owned() + REQUIRED;
    let scene = Scene::of_driver(site, &driver, &configuration).await;
    let asked = effect(&scene, "probe", "waiting").await;
    // The secret of the plan expires.
    sleep(LIFE + Duration::from_secs(1)).await;
    assert!(!scene.site.path().join("evidence").exists());
    let approved = SystemClock.now().timestamp();
    approve(&scene, &asked).await;
    let secret = eventually(DEADLINE, async || {
        let text = fs::read_to_string(scene.site.path().join("evidence"));
        let text = text.map_err(|error| error.to_string())?;
        text.strip_suffix('\n').map(str::to_owned).ok_or(text)
    })
    .await;
    let (made, expires) = times(&secret);
    assert!(made >= approved, "{made} is before {approved}");
    assert_eq!(u64::try_from(expires - made).unwrap(), LIFE.as_secs());
    let events = scene.instance.api.wait_for_events("probe", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    let output = scene.instance.output();
    assert!(!output.contains(&secret), "in the log");
    scene.instance.stop().await;
}
