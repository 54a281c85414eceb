//! Disabled tasks are made ready (docs/runs.md#disabled-tasks). About `cts start` over a file whatever the shape of this
//! run is.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use cts_testkit::{ConsulAgent, eventually};
use cts_tests::{Backend, DEADLINE, Instance, Site, met, task};

/// A site with the disabled task `cold`, whose module requires this version of Terraform, and the enabled task `warm`.
async fn scene(required: &str) -> (ConsulAgent, Site) {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("warm");
    site.write(
        "modules/cold/main.tf",
        &format!(
            "terraform {{\n  required_version = \"{required}\"\n}}\nvariable \"services\" {{\n  type = any\n}}\n"
        ),
    );
    let tasks = [
        task("cold", "./modules/cold", &["web"], "enabled = false"),
        task("warm", "./modules/warm", &["web"], ""),
    ];
    site.configure(&consul.address(), Backend::Local, &tasks.concat());
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    (consul, site)
}

/// Kinds of the runs of `cold`.
async fn kinds(cts: &Instance) -> Vec<String> {
    let runs = cts.api.get("/v1/runs?task=cold").await;
    let runs = runs["runs"].as_array().unwrap().iter();
    runs.map(|run| run["kind"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_disabled_task_is_made_ready_once() {
    let (_consul, site) = scene(">= 1.0").await;
    let completed = "[INFO]  ctrl: task completed: task_name=cold";
    let cts = Instance::start_embedded(&site).await;
    cts.until_logged(completed).await;
    let state = cts.api.task_status("cold").await;
    assert_eq!(state["status"], "unknown");
    assert_eq!(state["events_url"], "");
    let directory = site.path().join("work/cold");
    for name in [
        "main.tf",
        "variables.tf",
        "terraform.tfvars.tmpl",
        ".terraform",
    ] {
        assert!(directory.join(name).exists(), "{name}");
    }
    assert!(!directory.join("terraform.tfvars").exists());
    assert_eq!(kinds(&cts).await, ["check"]);
    let exit = cts.terminate().await;
    exit.assert_code(0);
    exit.logs_in_order(&[
        "[INFO]  ctrl: executing all tasks once through",
        "[INFO]  ctrl: task completed: task_name=warm",
        "[INFO]  ctrl: running task once: task_name=cold",
        "[INFO]  driver.terraform: retrieved 0 Terraform handlers for task: task_name=cold",
        completed,
    ]);

    let cts = Instance::start_embedded(&site).await;
    // The output has the lines of the first instance, too.
    eventually(DEADLINE, async || {
        let output = cts.output();
        (output.matches(completed).count() == 2)
            .then_some(())
            .ok_or(output)
    })
    .await;
    assert_eq!(kinds(&cts).await, ["check"], "a restart repeats nothing");
    cts.stop().await;
}

#[tokio::test]
async fn a_check_whose_module_does_not_come_gives_its_only_slot_to_a_change() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("warm");
    // Connections are taken by the system and never answered.
    let silent = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let module = format!("http://{}/cold.zip", silent.local_addr().unwrap());
    let tasks = [
        task("cold", &module, &["web"], "enabled = false"),
        task("warm", "./modules/warm", &["web"], ""),
        "worker {\n  slots = 1\n}\n".to_owned(),
    ];
    site.configure(&consul.address(), Backend::Local, &tasks.concat());
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start_embedded(&site).await;
    cts.until_logged("[INFO]  worker: run started: task_name=cold")
        .await;

    consul.register_service("web", "web-2", 2, &[], &[]).await;
    site.wait_for_ids("warm", &["web-1", "web-2"]).await;
    cts.until_logged("the check of a disabled task gives way to a run that is due: task_name=cold")
        .await;
    // It begins again once nothing is due.
    eventually(DEADLINE, async || {
        let output = cts.output();
        let begun = output
            .matches("worker: run started: task_name=cold")
            .count();
        met(begun > 1, output)
    })
    .await;
    cts.terminate().await;
}

#[tokio::test]
async fn passes_have_the_lines_of_the_original() {
    let (_consul, site) = scene(">= 1.0").await;
    for (argument, lines) in [
        (
            "-once",
            [
                "[INFO]  ctrl: task completed: task_name=warm",
                "[INFO]  ctrl: running task once: task_name=cold",
                "[INFO]  ctrl: task completed: task_name=cold",
                "[INFO]  ctrl: all tasks completed once",
            ],
        ),
        (
            "-inspect",
            [
                "[INFO]  ctrl: inspecting task: task_name=cold",
                "[INFO]  ctrl: inspection results: task_name=cold plan=\"Task is disabled, inspection was skipped.\"",
                "[INFO]  ctrl: inspected task: task_name=cold",
                "[INFO]  ctrl: all tasks inspected",
            ],
        ),
    ] {
        let exit = site
            .run_cts(cts_testkit::free_port(), &[argument])
            .wait()
            .await;
        exit.assert_code(0);
        exit.logs_in_order(&lines);
    }
}
