//! A log of JSON has no line that is anything else, whatever a start finds. About each command itself, whatever the
//! shape of this run is.

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{Backend, Exit, RECORDER, Site, task};
use serde_json::{Value, json};

/// A configuration with three deprecated keys.
const DEPRECATED: &str = "license_path = \"/opt/l\"\ntask {\n  name = \"t\"\n  source = \"./modules/pool\"\n  services = [\"web\"]\n}\n";

fn site(consul: &str, more: &str) -> Site {
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    site.configure(consul, Backend::Shared, more);
    site
}

/// The lines of a log of JSON.
#[track_caller]
fn lines(output: &str) -> Vec<Value> {
    let lines = output.lines().map(|line| {
        let line: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}\n{output}"));
        for key in ["time", "level", "module", "message"] {
            assert!(line[key].is_string(), "no {key} in {line}");
        }
        let known = ["time", "level", "module", "message", "fields"];
        for key in line.as_object().unwrap().keys() {
            assert!(known.contains(&key.as_str()), "{key} in {line}");
        }
        line
    });
    lines.collect()
}

/// Level, file, line and column of each line about the configuration.
fn problems(lines: &[Value]) -> Vec<Value> {
    let about = |line: &&Value| line["module"] == "config" && !line["fields"]["line"].is_null();
    let place = |line: &Value| {
        let fields = &line["fields"];
        json!([
            line["level"],
            fields["file"],
            fields["line"],
            fields["column"]
        ])
    };
    lines.iter().filter(about).map(place).collect()
}

async fn start(site: &Site, arguments: &[&str]) -> Exit {
    let json = ["start", "-log-format", "json", "-bind-address", "127.0.0.1"];
    let arguments = [&json[..], arguments].concat();
    site.run("cts", &arguments, "cts.log").wait().await
}

#[tokio::test]
async fn a_daemon_logs_objects_also_of_the_output_of_terraform() {
    let consul = ConsulAgent::start().await;
    let pool = task("pool", "./modules/pool", &["web"], "");
    let site = site(&consul.address(), &pool);
    let cts = site.run_cts(free_port(), &["-log-format", "json"]);
    cts.until_logged("Apply complete!").await;
    let exit = cts.terminate().await;
    exit.assert_code(0);
    let lines = lines(&exit.output);
    let terraform = lines.iter().find(|line| {
        let message = line["message"].as_str().unwrap_or_default();
        message.starts_with("Apply complete!")
    });
    let terraform = terraform.unwrap_or_else(|| panic!("{}", exit.output));
    assert_eq!(terraform["module"], "client.terraformcli", "{terraform}");
}

#[tokio::test]
async fn each_warning_about_the_configuration_is_an_event_with_its_place() {
    let consul = ConsulAgent::start().await;
    let site = site(&consul.address(), "");
    site.write("tasks.hcl", DEPRECATED);
    let files = [
        "-once",
        "-config-file",
        "cts.hcl",
        "-config-file",
        "tasks.hcl",
    ];
    let exit = start(&site, &files).await;
    exit.assert_code(0);
    let warned = problems(&lines(&exit.output));
    let at = |line: u32, column: u32| json!(["WARN", "tasks.hcl", line, column]);
    for expected in [at(1, 1), at(4, 3), at(5, 3)] {
        let same_line = |warned: &&Value| warned[1] == expected[1] && warned[2] == expected[2];
        assert!(
            warned.iter().any(|warned| same_line(&warned)),
            "no {expected} in {warned:?}"
        );
    }

    // In a log of text each is one line with a time.
    std::fs::remove_file(site.path().join("cts.log")).unwrap();
    let text = [&["start"], &files[..]].concat();
    let exit = site.run("cts", &text, "cts.log").wait().await;
    exit.assert_code(0);
    let warnings = exit
        .output
        .lines()
        .filter(|line| line.contains("[WARN]  config: "));
    let places =
        warnings.filter(|line| line.starts_with("20") && line.contains("file=tasks.hcl line="));
    assert_eq!(places.count(), warned.len(), "{}", exit.output);
}

#[tokio::test]
async fn problems_that_end_a_start_are_events_too() {
    let site = site("127.0.0.1:1", "");
    site.write("bad.hcl", &format!("prot = 1\n{DEPRECATED}"));
    let exit = start(
        &site,
        &["-config-file", "cts.hcl", "-config-file", "bad.hcl"],
    )
    .await;
    exit.assert_code(15);
    let logged = lines(&exit.output);
    let places = problems(&logged);
    assert!(
        places.contains(&json!(["ERROR", "bad.hcl", 1, 1])),
        "{places:?}"
    );
    assert_eq!(
        logged.last().unwrap()["message"],
        "error building configuration"
    );
    std::fs::remove_file(site.path().join("cts.log")).unwrap();

    for mode in ["-once", "-inspect"] {
        let exit = start(&site, &[mode, "-config-file", "gone.hcl"]).await;
        exit.assert_code(15);
        let missing = |line: &Value| line["fields"]["file_path"] == "gone.hcl";
        assert!(lines(&exit.output).iter().any(missing), "{}", exit.output);
    }
}

#[tokio::test]
async fn every_service_ends_with_events() {
    let site = site("127.0.0.1:1", "prot = 1\n");
    for service in ["watcher", "scheduler", "worker", "gateway"] {
        for (file, code) in [(&["-config-file", "cts.hcl"][..], 15), (&[], 13)] {
            let arguments = [&[service, "-log-format", "json"], file].concat();
            let log = format!("{service}-{code}.log");
            let exit = site.run("cts", &arguments, &log).wait().await;
            exit.assert_code(code);
            let lines = lines(&exit.output);
            assert_eq!(lines.last().unwrap()["level"], "ERROR", "{}", exit.output);
            assert_eq!(problems(&lines).len(), file.len() / 2, "{}", exit.output);
        }
    }
}

#[tokio::test]
async fn the_old_form_is_warned_about_by_an_event() {
    let consul = ConsulAgent::start().await;
    let site = site(&consul.address(), "");
    let arguments = ["-log-format", "json", "-once", "-config-file", "cts.hcl"];
    let exit = site.run("cts", &arguments, "cts.log").wait().await;
    exit.assert_code(0);
    let told = |line: &Value| {
        line["message"]
            .as_str()
            .is_some_and(|text| text.contains("deprecated"))
    };
    assert_eq!(
        lines(&exit.output).into_iter().filter(told).count(),
        1,
        "{}",
        exit.output
    );
}
