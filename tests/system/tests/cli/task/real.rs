//! The commands of cts against a real cts with a real Consul and a real Terraform. About the API of one
//! process, so embedded whatever the shape of the test run.

use cts_testkit::ConsulAgent;
use cts_tests::{Backend, Instance, RECORDER, Site, task};
use serde_json::Value;

use super::call::{Call, CommandOutput};

async fn asked(instance: &Instance, arguments: &[&str]) -> CommandOutput {
    let call = Call::cts(&[&["task"], arguments].concat());
    call.variable("CTS_ADDRESS", instance.api.url(""))
        .run()
        .await
}

fn document(said: &CommandOutput) -> Value {
    assert_eq!(said.code, Some(0), "{said}");
    serde_json::from_str(&said.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_cts_tells_of_its_tasks() {
    let consul = ConsulAgent::start().await;
    consul.register_service("api", "api-1", 1, &[], &[]).await;
    let site = Site::new();
    site.write("modules/recorder/main.tf", RECORDER);
    let tasks = [
        task("pool", "./modules/recorder", &["api", "db"], ""),
        task("idle", "./modules/recorder", &["db"], "enabled = false"),
    ];
    site.configure(&consul.address(), Backend::Local, &tasks.concat());
    let instance = Instance::start_embedded(&site).await;
    let events = instance.api.wait_for_events("pool", 1).await;

    let list = asked(&instance, &["list"]).await;
    assert_eq!(
        list.stdout,
        "NAME  STATE       STATUS      ENABLED  CONDITION          MODULE\n\
         pool  successful  successful  yes      services: api, db  ./modules/recorder\n\
         idle  disabled    unknown     no       services: db       ./modules/recorder\n"
    );
    let list = document(&asked(&instance, &["list", "-o", "json"]).await);
    assert_eq!(list["tasks"][0]["name"], "pool");
    assert_eq!(list["tasks"][1]["status"], "unknown");

    let show = asked(&instance, &["show", "pool"]).await;
    assert!(
        show.stdout
            .starts_with("Name:       pool\nState:      successful since "),
        "{show}"
    );
    show.stdout_has([
        "\nStatus:     successful\n",
        "\nLast run:   succeeded, began ",
    ]);
    let show = document(&asked(&instance, &["show", "pool", "-o", "json"]).await);
    assert_eq!(show["events"][0]["id"], events[0]["id"]);

    let shown = asked(&instance, &["events", "pool"]).await;
    let run = events[0]["run_id"].as_str().unwrap();
    assert!(shown.stdout.contains(run), "{shown}");
    let shown = document(&asked(&instance, &["events", "pool", "-o", "json"]).await);
    assert_eq!(shown["events"][0]["id"], events[0]["id"]);
    assert!(shown["events"][0]["start_time"].is_string(), "{shown}");

    for command in ["show", "events", "run"] {
        let unknown = asked(&instance, &[command, "nobody"]).await;
        assert_eq!(unknown.code, Some(11), "{unknown}");
        unknown.stderr_has(["there is no task 'nobody'"]);
    }
    let disabled = asked(&instance, &["run", "idle"]).await;
    assert_eq!(disabled.code, Some(11), "{disabled}");
    disabled.stderr_has(["cts task enable idle"]);

    let call = Call::cts(&["task", "replace", "-auto-approve", "-task-file=idle.hcl"]);
    let replacement = task("idle", "./modules/recorder", &["api"], "");
    let call = call.variable("CTS_ADDRESS", instance.api.url(""));
    let replaced = call.file("idle.hcl", &replacement).run().await;
    assert_eq!(replaced.code, Some(0), "{replaced}");
    replaced.stdout_has(["condition.services.names", "enabled"]);
    instance.api.wait_for_events("idle", 1).await;
    instance.stop().await;
}
