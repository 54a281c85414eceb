//! `-once` and `-inspect`: one pass over the tasks, and the end (docs/runs.md#passes). About
//! `cts start` over a file whatever the shape of this run is.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use cts_testkit::{ConsulAgent, access_control_by_default_deny, assert_contains, free_port};
use cts_tests::{Backend, Driver, Exit, Instance, Site, executable, task};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::Signal;
use rstest::rstest;
use serde_json::json;
use tokio::process::Command;

/// A site with a task of steps for each of the names, all of them for the service `web`.
async fn scene(names: &[&str]) -> (ConsulAgent, Site) {
    scene_with(Driver::Terraform, names).await
}

async fn scene_with(driver: Driver, names: &[&str]) -> (ConsulAgent, Site) {
    let consul = ConsulAgent::start().await;
    let site = Site::with_driver(driver).await;
    let mut tasks = String::new();
    for name in names {
        site.write_steps(name);
        tasks += &task(name, &format!("./modules/{name}"), &["web"], "");
    }
    site.configure(&consul.address(), Backend::Local, &tasks);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    (consul, site)
}

/// Adds a task that fails: its module has no step for the tag that the service gets.
async fn break_service(consul: &ConsulAgent) {
    consul
        .register_service("web", "web-1", 1, &[], &["broken"])
        .await;
}

/// Makes one pass; returns the output of this pass only.
async fn pass(site: &Site, arguments: &[&str]) -> Exit {
    let log = site.path().join("cts.log");
    let before = std::fs::metadata(log).map_or(0, |log| log.len());
    let mut exit = site.run_cts(free_port(), arguments).wait().await;
    exit.output.drain(..usize::try_from(before).unwrap());
    assert!(!exit.output.contains("panicked"), "{}", exit.output);
    exit
}

fn begun(site: &Site, task: &str) -> usize {
    let journal = site.journal(task);
    journal
        .iter()
        .filter(|line| line.starts_with("begin"))
        .count()
}

#[rstest]
#[tokio::test]
async fn once_applies_every_enabled_task_and_ends(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let (consul, site) = scene_with(driver, &["red", "blue"]).await;
    site.write_steps("idle");
    let idle = task("idle", "./modules/idle", &["web"], "enabled = false");
    site.write("idle.hcl", &idle);
    let arguments = ["-once", "-config-file", "idle.hcl"];
    for round in 1..=2 {
        let exit = pass(&site, &arguments).await;
        exit.assert_code(0).says([
            "executing all tasks once through: tasks=2",
            "running task once: task_name=idle",
            "task completed: task_name=idle",
            "all tasks completed once: tasks=2",
        ]);
        for name in ["red", "blue"] {
            site.wait_for_ids(name, &["web-1"]).await;
            // An applied input is applied again, and the apply finds nothing to do.
            assert_eq!(begun(&site, name), 1, "round {round}");
            let done = format!("task completed: task_name={name}");
            assert_eq!(exit.output.matches(&done).count(), 1, "{}", exit.output);
        }
        // A pass that is through ends without a signal, and then no service loses another.
        let lines = exit.output.lines();
        let about_files = ["not safe: ", "[WARN]  config: "];
        let of_work = lines.filter(|line| !about_files.iter().any(|text| line.contains(text)));
        let of_work: Vec<&str> = of_work.collect();
        for text in ["api: ", "[WARN]", "signal received"] {
            let found = of_work.iter().find(|line| line.contains(text));
            assert_eq!(found, None, "{text}:\n{}", exit.output);
        }
        assert_eq!(begun(&site, "idle"), 0);
    }
    // The instance that goes on takes the same state, and has nothing to do.
    let cts = Instance::start_embedded(&site).await;
    assert_eq!(cts.api.wait_for_events("red", 2).await.len(), 2);
    cts.stop().await;
    drop(consul);
}

#[rstest]
#[tokio::test]
async fn a_failing_task_is_told_and_the_others_go_on(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let (consul, site) = scene_with(driver, &["fragile"]).await;
    site.write_steps("sound");
    let sound = task("sound", "./modules/sound", &["api"], "");
    site.write("sound.hcl", &sound);
    break_service(&consul).await;
    consul.register_service("api", "api-1", 1, &[], &[]).await;
    let exit = pass(&site, &["-once", "-config-file", "sound.hcl"]).await;
    exit.assert_code(11);
    assert_eq!(begun(&site, "fragile"), 1, "one attempt only");
    site.wait_for_ids("sound", &["api-1"]).await;
    exit.says(["task failed: task_name=fragile", "broken for <web-1>"]);
    let error = "error tf-apply for 'fragile'";
    assert_eq!(exit.output.matches(error).count(), 3, "{}", exit.output);
    assert!(!exit.output.contains("retry_after"), "{}", exit.output);
    let last = exit.output.lines().last().unwrap_or_default();
    let expected = format!(
        "[ERROR] cli: error running controller: error=\"1 of 2 tasks failed: fragile: {error}"
    );
    assert!(last.contains(&expected), "{}", exit.output);
}

#[rstest]
#[tokio::test]
async fn inspect_shows_plans_and_leaves_everything_as_it_is(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let (_consul, site) = scene_with(driver, &["red", "blue"]).await;
    let exit = pass(&site, &["-inspect"]).await;
    exit.assert_code(0);
    for name in ["red", "blue"] {
        assert_eq!(site.journal(name), [""; 0], "{name} was applied");
        let told = format!("inspected task: task_name={name}");
        assert_eq!(exit.output.matches(&told).count(), 1, "{}", exit.output);
        let resource = format!("module.{name}.terraform_data.recorded will be created");
        assert!(exit.output.contains(&resource), "{}", exit.output);
        assert!(site.recorded(name).is_err(), "{name} has a state");
    }
    exit.says(["Plan: 1 to add, 0 to change"]);
    assert!(!site.work().join("cts.db").exists());

    // After a run nothing is left to change; and the state of the instance is not touched.
    let once = pass(&site, &["-once"]).await;
    once.assert_code(0);
    let database = std::fs::read(site.work().join("cts.db")).unwrap();
    let again = pass(&site, &["-inspect"]).await;
    again.assert_code(0);
    assert_eq!(
        again.output.matches("changes_present=false").count(),
        2,
        "{}",
        again.output
    );
    assert_eq!(std::fs::read(site.work().join("cts.db")).unwrap(), database);
    assert_eq!(begun(&site, "red"), 1);
}

#[rstest]
#[tokio::test]
async fn only_the_named_tasks_are_inspected(
    #[values(Driver::Terraform, Driver::TerraformCloud)] driver: Driver,
) {
    let (_consul, site) = scene_with(driver, &["red", "blue", "green"]).await;
    let arguments = ["-inspect-task", "blue", "-inspect-task=green"];
    let exit = pass(&site, &arguments).await;
    exit.assert_code(0);
    for (name, times) in [("red", 0), ("blue", 1), ("green", 1)] {
        let told = format!("inspected task: task_name={name}");
        assert_eq!(exit.output.matches(&told).count(), times, "{name}");
    }
    assert!(!site.work().join("red").exists());
}

#[tokio::test]
async fn a_task_that_there_is_not_is_refused_with_the_nearest_name() {
    let (_consul, site) = scene(&["yellow"]).await;
    let exit = pass(&site, &["-inspect-task", "yelow"]).await;
    exit.assert_code(15)
        .says(["yelow", "did you mean", "yellow"]);
    assert!(!site.work().exists());
}

#[tokio::test]
async fn a_signal_ends_a_pass_gently_and_tells_what_is_not_done() {
    let (_consul, site) = scene(&["red"]).await;
    site.hold();
    let cts = site.run_cts(free_port(), &["-once"]);
    let terraform = site.wait_for_step("red", "begin", "web-1").await;
    cts.signal(Signal::SIGTERM);
    let exit = cts.wait().await;
    exit.assert_code(12).says(["0 of 1 tasks"]);
    assert!(
        site.terraform_processes().is_empty(),
        "terraform {terraform} was left"
    );
    site.release();
    // The next pass finds the state unlocked.
    let exit = pass(&site, &["-once"]).await;
    exit.assert_code(0);
    site.wait_for_ids("red", &["web-1"]).await;
}

/// Output of a pass over everything on a terminal of a kind, as `TERM` names it. Terraform's output is passed
/// on if `log` is set.
async fn shown_on_terminal(site: &Site, kind: &str, log: bool) -> String {
    let driver = format!("driver \"terraform\" {{ log = {log} }}\n");
    site.write("log.hcl", &driver);
    let size = Winsize {
        ws_row: 40,
        ws_col: 100,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let terminal = openpty(Some(&size), None).unwrap();
    let mut command = Command::new(executable("cts"));
    command
        .args(["start", "-once", "-config-file", "cts.hcl"])
        .args(["-config-file", "log.hcl"])
        .current_dir(site.path())
        .env_clear()
        .envs(site.surrounding_environment())
        .env("TERM", kind)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(terminal.slave)
        .kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    // The command has a copy of the other end.
    drop(command);
    let mut master = File::from(terminal.master);
    let reading = tokio::task::spawn_blocking(move || {
        let mut seen = Vec::new();
        let mut part = [0; 4096];
        // The end of a terminal's last process is an error for its reader.
        while let Ok(read @ 1..) = master.read(&mut part) {
            seen.extend_from_slice(&part[..read]);
        }
        String::from_utf8_lossy(&seen).into_owned()
    });
    let status = child.wait().await.unwrap();
    let seen = reading.await.unwrap();
    assert!(status.success(), "{seen}");
    seen
}

#[tokio::test]
async fn a_terminal_sees_a_moving_line_for_each_task_and_one_that_stays() {
    let (_consul, site) = scene(&["red", "blue"]).await;
    let seen = shown_on_terminal(&site, "xterm", false).await;
    assert_contains(
        &seen,
        [
            "applying",
            "0/2 tasks done",
            "2 tasks done",
            "red",
            "blue",
            "\u{1b}[",
        ],
    );
    for name in ["red", "blue"] {
        assert_eq!(begun(&site, name), 1);
    }
}

#[tokio::test]
async fn a_terminal_without_moving_lines_sees_plain_ones() {
    let (_consul, site) = scene(&["red"]).await;
    for (kind, log) in [("dumb", false), ("xterm", true)] {
        let seen = shown_on_terminal(&site, kind, log).await;
        assert_eq!(seen.contains("Apply complete!"), log, "{seen}");
        assert_contains(&seen, ["task of the pass ended: task_name=red"]);
        assert!(!seen.contains('\u{1b}'), "{seen}");
    }
}

#[tokio::test]
async fn refusal_of_consul_ends_the_pass_with_its_message() {
    let (consul, site) = scene(&["red"]).await;
    let far = r#"
        task {
          name   = "far"
          module = "./modules/red"
          condition "services" {
            names      = ["web"]
            datacenter = "nowhere"
          }
        }
    "#;
    let red = task("red", "./modules/red", &["web"], "");
    site.configure(&consul.address(), Backend::Local, &format!("{red}{far}"));
    for arguments in [["-once"], ["-inspect"]] {
        let exit = pass(&site, &arguments).await;
        exit.assert_code(11);
        let mut errors = exit
            .output
            .lines()
            .rev()
            .filter(|line| line.contains("[ERROR]"));
        for message in [
            "cli: error running controller: ",
            "ctrl: task failed: task_name=far",
        ] {
            let line = errors.next().unwrap_or_default();
            assert!(line.contains(message), "{}", exit.output);
            assert!(line.contains("No path to datacenter"), "{line}");
        }
    }
    // The other task has had its turn.
    site.wait_for_ids("red", &["web-1"]).await;
}

#[tokio::test]
async fn an_unknown_token_ends_the_pass_and_one_without_rights_is_warned_about() {
    const POOR: &str = "0f6f4a4e-6f0b-4f0d-9c39-0d5c6f5f8a11";
    let consul = ConsulAgent::start_with(access_control_by_default_deny()).await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = Site::new();
    site.write_steps("red");
    let red = task("red", "./modules/red", &["web"], "");
    site.configure(&consul.address(), Backend::Local, &red);
    let unknown = "consul {\n  token = \"22222222-2222-2222-2222-222222222222\"\n}\n";
    site.write("token.hcl", unknown);
    let exit = pass(&site, &["-once", "-config-file", "token.hcl"]).await;
    exit.assert_code(11)
        .says(["Unexpected response code: 403", "ACL not found"]);
    assert_eq!(begun(&site, "red"), 0);

    // From now on a request without a token may do nothing.
    consul
        .make_token(POOR, "key \"none\" { policy = \"read\" }")
        .await;
    let default = json!({"Token": POOR}).to_string();
    consul.put("/v1/agent/token/default", default).await;
    let exit = pass(&site, &["-once"]).await;
    exit.assert_code(0);
    site.wait_for_ids("red", &[]).await;
    let mut warned = exit.output.lines().filter(|line| line.contains("[WARN]"));
    let warned = warned.find(|line| line.contains("health.service(web)"));
    assert_contains(warned.unwrap_or(&exit.output), ["service:read"]);
}
