//! A pass with tasks whose effects wait for the consent of a person (docs/runs.md#consent).

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{Backend, Exit, RECORDER, Site, task};

async fn once(site: &Site) -> Exit {
    site.run_cts(free_port(), &["-once"]).wait().await
}

#[tokio::test]
async fn a_pass_applies_what_needs_no_consent_and_names_the_rest() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/recorder/main.tf", RECORDER);
    let module = "./modules/recorder";
    let tasks = |rule: &str| {
        let red = task("red", module, &["web"], &format!("approval = \"{rule}\""));
        format!("{red}{}", task("blue", module, &["web"], ""))
    };
    site.configure(&consul.address(), Backend::Local, &tasks("always"));
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    for _pass in 0..2 {
        let exit = once(&site).await;
        exit.assert_code(18).says([
            "the task waits for the consent of a person: nothing is applied: task_name=red",
            "1 of 2 tasks wait for the consent of a person: red (run ",
            "0 failed",
        ]);
    }
    site.wait_for_ids("blue", &["web-1"]).await;
    site.configure(&consul.address(), Backend::Local, &tasks("destroy"));
    once(&site).await.assert_code(0);
    site.wait_for_ids("red", &["web-1"]).await;
}
