//! A module that cannot be used is a failure of its task, and concerns no other task
//! (docs/runs.md#modules-that-cannot-be-used).

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{Backend, Driver, Exit, Instance, Site, task};
use rstest::rstest;

/// A site with a task that works, one without a module and one whose module lacks the variable of its condition.
async fn scene(driver: Driver) -> (ConsulAgent, Site) {
    let consul = ConsulAgent::start().await;
    let site = Site::with_driver(driver).await;
    site.write_steps("sound");
    site.write("modules/lacking/main.tf", "locals {}\n");
    let tasks = task("sound", "./modules/sound", &["web"], "")
        + &task("gone", "./modules/gone", &["web"], "")
        + &task("lacking", "./modules/lacking", &["web"], "");
    site.configure(&consul.address(), Backend::Local, &tasks);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    (consul, site)
}

const LACKING: &str = "module for task \"lacking\" is missing the \"services\" variable";

#[rstest]
#[tokio::test]
async fn task_with_a_broken_module_fails_alone_until_it_is_mended(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let (consul, site) = scene(driver).await;
    let cts = Instance::start(&site).await;
    site.wait_for_ids("sound", &["web-1"]).await;
    for (name, problem) in [
        ("gone", "modules/gone does not exist"),
        ("lacking", LACKING),
    ] {
        let events = cts.api.wait_for_events(name, 1).await;
        let message = events[0]["error"]["message"].as_str().unwrap();
        assert!(message.contains(problem), "{message}");
        assert_eq!(cts.api.task_status(name).await["status"], "errored");
    }
    let failed = "[ERROR] ctrl: error initializing task: task_name=lacking";
    assert!(cts.output().contains(failed), "{}", cts.output());

    site.write_steps("gone");
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    site.wait_for_ids("gone", &["web-1", "web-2"]).await;
    site.wait_for_ids("sound", &["web-1", "web-2"]).await;
    let events = cts.api.wait_for_events("gone", 2).await;
    assert_eq!(events[0]["success"], true);
    cts.api.wait_for_events("lacking", 2).await;
    cts.stop().await;
}

async fn pass(site: &Site, argument: &str) -> Exit {
    let exit = site.run_cts(free_port(), &[argument]).wait().await;
    assert!(!exit.output.contains("panicked"), "{}", exit.output);
    exit
}

#[rstest]
#[tokio::test]
async fn a_pass_ends_with_the_exit_code_of_a_failed_task(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let (_consul, site) = scene(driver).await;
    let exit = pass(&site, "-inspect").await;
    exit.assert_code(11).says([
        LACKING,
        "2 of 3 tasks failed",
        "inspected task: task_name=sound",
    ]);
    let exit = pass(&site, "-once").await;
    exit.assert_code(11)
        .says([LACKING, "2 of 3 tasks failed: gone: module directory"]);
    site.wait_for_ids("sound", &["web-1"]).await;
    let last = exit.output.lines().last().unwrap_or_default();
    assert!(last.contains("[ERROR] cli: "), "{last}");
}

/// Scripts of the original look for the words of Consul.
#[tokio::test]
async fn a_query_that_consul_refuses_comes_before_the_problem_of_the_module() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/lacking/main.tf", "locals {}\n");
    let text = task("lacking", "./modules/lacking", &["web"], "");
    let text = text.replace(
        "names = [\"web\"]",
        "names = [\"web\"]\n    datacenter = \"nowhere\"",
    );
    site.configure(&consul.address(), Backend::Local, &text);
    let exit = pass(&site, "-once").await;
    exit.assert_code(11).says(["No path to datacenter"]);
    assert!(
        exit.output
            .contains("1 of 1 tasks failed: lacking: error initializing task"),
        "{}",
        exit.output
    );
}

#[tokio::test]
async fn commands_that_read_a_configuration_report_broken_modules() {
    let (_consul, site) = scene(Driver::Terraform).await;
    for words in [
        &["config", "validate", "cts.hcl"][..],
        &[
            "config",
            "apply",
            "-auto-approve",
            "-config-file",
            "cts.hcl",
        ],
    ] {
        let exit = site.run("cts", words, "read.log").wait().await;
        exit.assert_code(15)
            .says([LACKING, "modules/gone does not exist", "cts.hcl:"]);
    }
    let words = ["doctor", "-config-file", "cts.hcl"];
    let exit = site.run("cts", &words, "read.log").wait().await;
    exit.assert_code(4)
        .says([LACKING, "modules/gone does not exist", "cts.hcl:"]);
}
