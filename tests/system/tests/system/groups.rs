//! Tasks of a concurrency group apply one after the other (docs/runs.md#concurrency-groups).

use std::fs;

use cts_testkit::ConsulAgent;
use cts_tests::{Backend, Driver, Instance, Site, task};
use rstest::rstest;

/// Notes when it begins and when it ends; the notes of an apply at the same time would come in between.
const MODULE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "journal" {
  provisioner "local-exec" {
    command = "echo begin >>'@SITE@/journal'; sleep 0.5; echo end >>'@SITE@/journal'"
  }
}
"#;

#[rstest]
#[tokio::test]
async fn tasks_of_a_group_apply_one_after_the_other(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let consul = ConsulAgent::start().await;
    let site = Site::with_driver(driver).await;
    let path = site.path().to_str().unwrap();
    site.write("modules/fw/main.tf", &MODULE.replace("@SITE@", path));
    let group = "concurrency_group = \"firewall\"";
    let tasks = NAMES.map(|name| task(name, "./modules/fw", &["web"], group));
    site.configure(&consul.address(), Backend::Local, &tasks.concat());
    let cts = Instance::start(&site).await;
    for name in NAMES {
        let events = cts.api.wait_for_events(name, 1).await;
        assert_eq!(events[0]["success"], true, "{events:?}");
    }
    cts.stop().await;
    let journal = fs::read_to_string(site.path().join("journal")).unwrap();
    assert_eq!(journal, "begin\nend\n".repeat(NAMES.len()));
}
