//! SIGHUP: a service without a terminal reads its files again, everything else ends (docs/cli.md#signals). About each
//! command itself, whatever the shape of this run is.

use std::fs;

use cts_testkit::{ConsulAgent, eventually, free_port};
use cts_tests::{Backend, DEADLINE, Process, Site, executable, met, task};
use nix::sys::signal::Signal;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use reqwest::Method;

/// A site with steps for the tasks `red` and `blue`, of which the files in `tasks` declare `red`.
pub(crate) async fn scene() -> (ConsulAgent, Site) {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.configure(&consul.address(), Backend::Shared, "");
    for name in ["red", "blue"] {
        site.write_steps(name);
    }
    declare(&site, "red");
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    (consul, site)
}

/// Writes the file of a task.
pub(crate) fn declare(site: &Site, name: &str) {
    let block = task(name, &format!("./modules/{name}"), &["web"], "");
    site.write(&format!("tasks/{name}.hcl"), &block);
}

/// The words that start a daemon of the files.
fn start(site: &Site) -> Vec<&'static str> {
    site.write("port.hcl", &format!("port = {}\n", free_port()));
    vec![
        "start",
        "-config-file=cts.hcl",
        "-config-file=port.hcl",
        "-config-dir=tasks",
        "-bind-address=127.0.0.1",
    ]
}

/// Runs the program without a terminal. The tests may run where the signal is ignored, as `nohup` leaves it.
pub(crate) fn without_terminal(site: &Site, words: &[&str], log: &str) -> Process {
    let program = executable("cts").into_os_string().into_string().unwrap();
    let before = ["/usr/bin/env", "--default-signal=HUP", &program];
    site.run("/usr/bin/setsid", &[&before[..], words].concat(), log)
}

#[tokio::test]
async fn a_daemon_takes_the_tasks_of_its_files_and_leaves_a_running_apply_alone() {
    let (consul, site) = scene().await;
    let mut cts = without_terminal(&site, &start(&site), "cts.log");
    site.wait_for_step("red", "end", "web-1").await;

    site.hold();
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    site.wait_for_step("red", "begin", "web-1,web-2").await;
    declare(&site, "blue");
    site.write("tasks/level.hcl", "log_level = \"TRACE\"\n");
    cts.signal(Signal::SIGHUP);
    let line = "reloaded=\"tasks: configuration 2 is in force\" not_reloaded=\"`log_level`: needs a restart\"";
    cts.until_logged(line).await;
    site.release();
    site.wait_for_step("red", "end", "web-1,web-2").await;
    site.wait_for_step("blue", "end", "web-1,web-2").await;
    let begun = |line: &&String| line.starts_with("begin") && line.ends_with("web-1,web-2");
    let journal = site.journal("red");
    assert_eq!(journal.iter().filter(begun).count(), 1, "{journal:?}");

    // Files that cannot be used change nothing.
    site.write("tasks/more.hcl", "prot = 1\n");
    fs::remove_file(site.path().join("tasks/blue.hcl")).unwrap();
    cts.signal(Signal::SIGHUP);
    cts.until_logged("not_reloaded=\"configuration: 1 problem in the configuration\"")
        .await;
    // Neither do tasks that come with a block which this process does not have.
    site.write("tasks/more.hcl", "terraform_provider \"null\" {}\n");
    cts.signal(Signal::SIGHUP);
    cts.until_logged("tasks: `terraform_provider` has changed, too")
        .await;
    declare(&site, "blue");
    fs::remove_file(site.path().join("tasks/more.hcl")).unwrap();
    cts.signal(Signal::SIGHUP);
    cts.until_logged("unchanged=tasks").await;
    // The brake of the fleet comes with the tasks.
    site.write("tasks/more.hcl", "fleet_max_shrink {}\n");
    cts.signal(Signal::SIGHUP);
    cts.until_logged("tasks: configuration 3 is in force").await;
    assert!(cts.is_running());
    let exit = cts.terminate().await;
    exit.assert_code(0).says(["signal=terminated"]);
    for (text, count) in [("files were read again", 5), ("unknown key `prot`", 1)] {
        assert_eq!(exit.output.matches(text).count(), count, "{}", exit.output);
    }
    assert!(!exit.output.contains("removes a task"), "{}", exit.output);
}

/// The port of the API, which [`start`] has chosen.
fn port(site: &Site) -> u16 {
    let text = fs::read_to_string(site.path().join("port.hcl")).unwrap();
    text.trim().rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_limited_token_counts_for_a_task_that_comes_with_a_reload() {
    let (_consul, site) = scene().await;
    site.write("tasks/access.hcl", "security {\n  require_auth = true\n}\n");
    let cts = without_terminal(&site, &start(&site), "cts.log");
    site.wait_for_step("red", "end", "web-1").await;
    let words = ["token", "create", "team", "-role=operate", "-tasks=blue"];
    let words = [&words[..], &["-config-file=cts.hcl", "-out=team.token"]].concat();
    let made = site.run("cts", &words, "token.log").wait().await;
    made.assert_code(0);
    let token = fs::read_to_string(site.path().join("team.token")).unwrap();
    let address = format!("http://127.0.0.1:{}", port(&site));
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |method: Method, path: &str| {
        let request = client.request(method.clone(), format!("{address}{path}"));
        let mut request = request.bearer_auth(token.trim());
        if method == Method::PATCH {
            request = request.json(&serde_json::json!({"enabled": true}));
        }
        request.send().await.unwrap().status().as_u16()
    };
    let until = async |path: &str, expected: u16| {
        eventually(DEADLINE, async || match ask(Method::GET, path).await {
            status if status == expected => Ok(()),
            status => Err(format!("{path}: {status}")),
        })
        .await;
    };
    // The gateway hears of the token.
    until("/v1/tasks/red", 403).await;
    assert_eq!(ask(Method::GET, "/v1/tasks/blue").await, 404);

    declare(&site, "blue");
    cts.signal(Signal::SIGHUP);
    site.wait_for_step("blue", "end", "web-1").await;
    until("/v1/tasks/blue", 200).await;
    // Until the run is reported, its task is busy.
    eventually(DEADLINE, async || {
        match ask(Method::PATCH, "/v1/tasks/blue").await {
            200 => Ok(()),
            status => Err(status),
        }
    })
    .await;
    for method in [Method::GET, Method::PATCH, Method::DELETE] {
        assert_eq!(ask(method, "/v1/tasks/red").await, 403);
    }
    cts.terminate().await.assert_code(0);
}

#[tokio::test]
async fn certificates_are_read_again_and_a_broken_one_stays_out() {
    let (_consul, site) = scene().await;
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    site.write("cert.pem", &cert.pem());
    site.write("key.pem", &signing_key.serialize_pem());
    site.write(
        "tasks/tls.hcl",
        "tls { cert = \"cert.pem\" key = \"key.pem\" }\n",
    );
    let cts = without_terminal(&site, &start(&site), "cts.log");
    site.wait_for_step("red", "end", "web-1").await;
    cts.signal(Signal::SIGHUP);
    cts.until_logged("unchanged=\"files of tls; tasks\"").await;
    // The configuration is checked with the same files.
    site.write("key.pem", "nonsense");
    cts.signal(Signal::SIGHUP);
    cts.until_logged("; files of tls: ").await;
    cts.terminate().await.assert_code(0);
}

#[tokio::test]
async fn no_service_ends() {
    let (_consul, site) = scene().await;
    site.database().await;
    for (service, more) in [
        ("watcher", &[][..]),
        ("scheduler", &[]),
        ("worker", &["-working-dir=worker"]),
        ("gateway", &["-bind-address=127.0.0.1"]),
    ] {
        site.write("port.hcl", &format!("port = {}\n", free_port()));
        let grpc = format!("-grpc-address=127.0.0.1:{}", free_port());
        let words = [
            service,
            "-config-file=cts.hcl",
            "-config-file=port.hcl",
            "-config-file=database.hcl",
            &grpc,
        ];
        let log = format!("{service}.log");
        let cts = without_terminal(&site, &[&words[..], more].concat(), &log);
        cts.until_logged("a service begins").await;
        // Until the service runs, a reload is refused.
        eventually(DEADLINE, async || {
            cts.signal(Signal::SIGHUP);
            let output = cts.output();
            met(output.contains("files were read again"), output)
        })
        .await;
        cts.terminate()
            .await
            .assert_code(0)
            .says(["signal=terminated"]);
    }
}

#[tokio::test]
async fn the_end_of_its_terminal_ends_a_daemon() {
    let (consul, site) = scene().await;
    let program = executable("cts").into_os_string().into_string().unwrap();
    let words = start(&site).join(" ");
    let command = format!("exec /usr/bin/env --default-signal=HUP {program} {words} 2>cts.log");
    let mut terminal = site.run(
        "/usr/bin/script",
        &["-qc", &command, "/dev/null"],
        "script.log",
    );
    site.wait_for_step("red", "end", "web-1").await;
    assert!(terminal.is_running());
    terminal.kill().await;
    eventually(DEADLINE, async || {
        let log = fs::read_to_string(site.path().join("cts.log")).unwrap();
        let ended = ["signal=hangup", "graceful shutdown"];
        let has_ended = ended.iter().all(|text| log.contains(text));
        met(has_ended, log)
    })
    .await;
    eventually(DEADLINE, async || {
        let services = consul.get("/v1/agent/services").await;
        let ids: Vec<String> = services.as_object().unwrap().keys().cloned().collect();
        (ids == ["web-1"]).then_some(()).ok_or(format!("{ids:?}"))
    })
    .await;
}

#[tokio::test]
async fn a_pass_ends_without_success() {
    let (_consul, site) = scene().await;
    site.hold();
    let words = [&start(&site)[..], &["-once"]].concat();
    let cts = without_terminal(&site, &words, "cts.log");
    site.wait_for_step("red", "begin", "web-1").await;
    cts.signal(Signal::SIGHUP);
    let exit = cts.wait().await;
    exit.assert_code(12).says(["signal=hangup"]);
}

#[tokio::test]
async fn under_the_name_of_the_original_a_daemon_ends() {
    let (_consul, site) = scene().await;
    let program = executable("cts").into_os_string().into_string().unwrap();
    let script = "exec -a consul-terraform-sync \"$0\" \"$@\"";
    let mut words = vec![
        "/usr/bin/env",
        "--default-signal=HUP",
        "/bin/bash",
        "-c",
        script,
        &program,
    ];
    // An option that the original does not have.
    words.extend(
        start(&site)
            .into_iter()
            .filter(|word| !word.starts_with("-bind")),
    );
    let cts = site.run("/usr/bin/setsid", &words, "cts.log");
    site.wait_for_step("red", "end", "web-1").await;
    cts.signal(Signal::SIGHUP);
    let exit = cts.wait().await;
    exit.assert_code(0).says(["signal=hangup"]);
}
