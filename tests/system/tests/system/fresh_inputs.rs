//! A run sees what was written before its trigger.

use std::fmt::Write as _;

use cts_testkit::ConsulAgent;
use cts_tests::{Backend, Instance, KEY_RECORDER, RECORDER, Site};
use rstest::rstest;
use serde_json::json;

/// Services that are registered one after the other.
const SERVICES: usize = 12;

fn named() -> String {
    let mut names = String::new();
    for number in 1..=SERVICES {
        write!(names, "\"web-{number:02}\", ").unwrap();
    }
    format!("names = [{names}]")
}

/// The names of the catalog run the task, and the instances, which run nothing, are read besides.
fn pool(services: &str, others: &str) -> String {
    format!(
        r#"
        task {{
          name   = "pool"
          module = "./modules/pool"
          condition "catalog-services" {{
            regexp = "^web-"
            use_as_module_input = false
          }}
          module_input "services" {{
            {services}
          }}
          {others}
          buffer_period {{
            enabled = false
          }}
        }}
        "#
    )
}

#[rstest]
#[tokio::test]
async fn every_new_service_arrives_with_the_run_that_its_name_triggers(
    #[values("names", "regexp")] by: &str,
) {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let services = match by {
        "names" => named(),
        _ => "regexp = \"^web-\"".to_owned(),
    };
    site.configure(&consul.address(), Backend::Local, &pool(&services, ""));
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("pool", 1).await;
    let mut ids: Vec<String> = Vec::new();
    for number in 1..=SERVICES {
        let name = format!("web-{number:02}");
        consul.register_service(&name, &name, 80, &[], &[]).await;
        ids.push(name);
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        // Nothing else changes, so a run that lacks the instance stays the last one.
        site.wait_for_ids("pool", &ids).await;
    }
    cts.stop().await;
}

#[tokio::test]
async fn a_key_that_is_written_before_a_registration_is_in_its_run() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/pool/main.tf", &format!("{RECORDER}{KEY_RECORDER}"));
    let keys = r#"module_input "consul-kv" { path = "limits" }"#;
    let task = pool("regexp = \"^web-\"", keys);
    site.configure(&consul.address(), Backend::Local, &task);
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("pool", 1).await;
    for number in 1..=SERVICES {
        let name = format!("web-{number:02}");
        consul.kv_put("limits", number.to_string()).await;
        consul.register_service(&name, &name, 80, &[], &[]).await;
        let expected = json!({"limits": number.to_string()});
        site.wait_for_keys("pool", &expected).await;
    }
    cts.stop().await;
}
