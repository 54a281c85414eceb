//! A restart runs Terraform only where something has changed.

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, DEADLINE, Driver, Instance, RECORDER, Site, met, task};
use rstest::rstest;
use serde_json::json;

#[rstest]
#[tokio::test]
async fn an_unchanged_task_is_not_run_again_but_an_edited_module_is(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let consul = ConsulAgent::start().await;
    let site = Site::with_driver(driver).await;
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(&consul.address(), Backend::Local, &pool);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start(&site).await;
    let first = cts.api.wait_for_events("pool", 1).await;
    cts.stop().await;
    let before = site.state("pool").await.unwrap();

    let cts = Instance::start(&site).await;
    eventually(DEADLINE, async || {
        met(
            cts.output()
                .contains("task input is unchanged, no run needed"),
            "not decided yet",
        )
    })
    .await;
    assert_eq!(
        cts.api.events("pool").await,
        first,
        "events survive, none is added"
    );
    cts.stop().await;
    assert_eq!(site.state("pool").await.unwrap(), before);
    assert_eq!(site.journal("pool").len(), 2, "one begin and one end");

    let module = site.path().join("modules/pool/main.tf");
    let edited = std::fs::read_to_string(module).unwrap()
        + "resource \"terraform_data\" \"added\" { input = \"by an edit\" }\n";
    site.write("modules/pool/main.tf", &edited);
    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("pool", 2).await;
    assert_eq!(events[1], first[0]);
    cts.stop().await;
    let after = String::from_utf8(site.state("pool").await.unwrap()).unwrap();
    assert!(after.contains("by an edit"), "{after}");
}

/// Publishes in each run, whatever has changed, with a credential of the environment.
const PUBLISHER: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "publish" {
  triggers_replace = timestamp()

  provisioner "local-exec" {
    command     = "echo $FW_USER >>'@SITE@/published'"
    interpreter = ["/bin/sh", "-c"]
  }
}
"#;

#[tokio::test]
async fn a_module_that_publishes_in_each_run_runs_for_changes_of_instances_only() {
    let consul = ConsulAgent::start().await;
    let mut site = Site::new();
    site.set_environment("FW_USER", "edge");
    let module = PUBLISHER.replace("@SITE@", site.path().to_str().unwrap());
    site.write("modules/firewall/main.tf", &module);
    site.write("modules/marker/main.tf", RECORDER);
    let tasks = task("firewall", "./modules/firewall", &["web"], "")
        + &task("marker", "./modules/marker", &["api"], "");
    site.configure(&consul.address(), Backend::Shared, &tasks);
    let web = |id: &str| {
        let check = json!({"CheckID": format!("check-{id}"), "TTL": "1h", "Status": "passing"});
        json!({"Name": "web", "ID": id, "Check": check})
    };
    consul.register(web("web-1")).await;
    let cts = Instance::start(&site).await;
    cts.api.wait_for_events("firewall", 1).await;
    cts.api.wait_for_events("marker", 1).await;

    let output = json!({"Status": "passing", "Output": "17 sessions"});
    consul
        .put("/v1/agent/check/update/check-web-1", output.to_string())
        .await;
    consul.register_service("api", "api-1", 1, &[], &[]).await;
    site.wait_for_ids("marker", &["api-1"]).await;
    cts.api.wait_for_events("marker", 2).await;
    assert_eq!(cts.api.events("firewall").await.len(), 1);
    cts.stop().await;

    let cts = Instance::start(&site).await;
    cts.until_logged("task input is unchanged, no run needed")
        .await;
    consul.register(web("web-2")).await;
    let events = cts.api.wait_for_events("firewall", 2).await;
    assert_eq!(events.len(), 2, "{events:?}");
    cts.stop().await;
    let published = std::fs::read_to_string(site.path().join("published")).unwrap();
    assert_eq!(published, "edge\nedge\n");
}
