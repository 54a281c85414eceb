//! A pass while the brake of the fleet is set (docs/runs.md#the-brake-of-the-fleet).

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{Backend, Exit, RECORDER, Site, task};

const BRAKE: &str =
    "fleet_max_shrink {\n  share = \"20%\"\n  within = \"10m\"\n  at_least = 2\n}\n";

const WEB: [&str; 4] = ["web-1", "web-2", "web-3", "web-4"];

async fn once(site: &Site) -> Exit {
    site.run_cts(free_port(), &["-once"]).wait().await
}

#[tokio::test]
async fn a_pass_that_the_brake_holds_says_so_and_has_its_own_exit_code() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/recorder/main.tf", RECORDER);
    let module = "./modules/recorder";
    let tasks = [
        task("red", module, &["web"], ""),
        task("blue", module, &["api"], ""),
    ];
    let configuration = format!("{BRAKE}{}", tasks.concat());
    site.configure(&consul.address(), Backend::Local, &configuration);
    for id in WEB {
        consul.register_service("web", id, 1, &[], &[]).await;
    }
    consul.register_service("api", "api-1", 1, &[], &[]).await;
    once(&site).await.assert_code(0);
    site.wait_for_ids("red", &WEB).await;

    for id in &WEB[1..] {
        consul.deregister(id).await;
    }
    consul.register_service("api", "api-2", 1, &[], &[]).await;
    let exit = once(&site).await;
    exit.assert_code(17).says([
        "the brake of the fleet holds the task: nothing is applied: task_name=red",
        "the brake of the fleet is set: 3 of ",
        "(web: 1 of 4); it holds 1 of 2 tasks until the instances are back",
        "0 failed",
    ]);
    site.wait_for_ids("red", &WEB).await;
    site.wait_for_ids("blue", &["api-1", "api-2"]).await;

    for id in &WEB[1..] {
        consul.register_service("web", id, 1, &[], &[]).await;
    }
    once(&site).await.assert_code(0);
}
