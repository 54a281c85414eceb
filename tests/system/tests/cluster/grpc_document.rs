//! Every call that docs/grpc.md shows, against each of the four services.

use std::process::Stdio;
use std::time::Duration;

use cts_testkit::ConsulAgent;
use cts_tests::{Backend, Cluster, Plan, RECORDER, Service, Site, task};
use tokio::process::Command;
use tokio::time::timeout;

const DOCUMENT: &str = include_str!("../../../../docs/grpc.md");

/// A call as the document writes it for `grpcurl`.
#[derive(Debug)]
struct Call {
    words: Vec<String>,
}

/// The `grpcurl` lines of the document's blocks for a shell; a line that works only while a run goes on is in a
/// block of text.
fn calls() -> Vec<Call> {
    let mut code = false;
    let mut calls = Vec::new();
    for line in DOCUMENT.lines() {
        if line.starts_with("```") {
            code = !code && line == "```sh";
        } else if code && line.starts_with("grpcurl ") {
            calls.push(Call { words: words(line) });
        }
    }
    calls
}

/// Words as a shell makes them of text with single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 0 {
            words.extend(part.split_whitespace().map(str::to_owned));
        } else {
            words.push(part.to_owned());
        }
    }
    words
}

impl Call {
    fn value_of(&self, option: &str) -> Option<&str> {
        let at = self.words.iter().position(|word| word == option)?;
        self.words.get(at + 1).map(String::as_str)
    }

    fn address(&self) -> &str {
        let address = self
            .words
            .iter()
            .find(|word| word.starts_with("127.0.0.1:"));
        address.expect("a call has an address")
    }

    /// `list`, or a method.
    fn target(&self) -> &str {
        self.words.last().expect("a call has words")
    }

    fn is_endless(&self) -> bool {
        self.words.iter().any(|word| word == "-max-time")
    }
}

/// Makes the call by `buf curl`, which uses reflection and gRPC as `grpcurl` does. Returns its output.
async fn execute(call: &Call, address: &str, data: &str) -> String {
    let buf = std::env::var_os("CTS_TEST_BUF")
        .expect("CTS_TEST_BUF names the executable buf; scripts/test sets it");
    let mut command = Command::new(buf);
    command.args(["curl", "--protocol", "grpc", "--http2-prior-knowledge"]);
    if call.target() == "list" {
        command.args(["--list-services", &format!("http://{address}")]);
    } else {
        command.args(["--data", data]);
        command.arg(format!("http://{address}/{}", call.target()));
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let child = command.spawn().unwrap();
    let limit = if call.is_endless() { 3 } else { 60 };
    match timeout(Duration::from_secs(limit), child.wait_with_output()).await {
        Ok(output) => {
            let output = output.unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{call:?}: {errors}");
            String::from_utf8(output.stdout).unwrap()
        }
        Err(_elapsed) if call.is_endless() => String::new(),
        Err(elapsed) => panic!("{call:?}: {elapsed}"),
    }
}

#[tokio::test]
async fn documented_calls_work_against_each_of_the_four() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = Site::new();
    site.write("modules/hello/main.tf", RECORDER);
    let hello = task("hello", "./modules/hello", &["web"], "");
    site.configure(&consul.address(), Backend::Consul, &hello);
    let cluster = Cluster::start(&site, Plan::of(1, 1, 1, 1)).await;
    let events = cluster.api(0).wait_for_events("hello", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");

    let ports = [
        ("127.0.0.1:8560", Service::Scheduler),
        ("127.0.0.1:8561", Service::Watcher),
        ("127.0.0.1:8562", Service::Worker),
        ("127.0.0.1:8563", Service::Gateway),
    ]
    .map(|(documented, service)| (documented, cluster.grpc_address(service, 0)));
    let calls = calls();
    assert!(calls.len() > 15, "the document shows calls: {calls:?}");
    for (documented, _) in &ports {
        assert!(calls.iter().any(|call| call.address() == *documented));
    }
    let run = run_of_newest_event(&calls, &ports[0].1).await;
    let worker = id_of_worker(&calls, &ports[0].1).await;
    // A drained worker leaves, and with it its listener.
    let (last, first): (Vec<&Call>, Vec<&Call>) = calls
        .iter()
        .partition(|call| call.target().ends_with("/DrainWorker"));
    for call in first.into_iter().chain(last) {
        let (_, address) = ports
            .iter()
            .find(|(documented, _)| *documented == call.address())
            .expect("the document uses the default addresses");
        let data = call.value_of("-d").unwrap_or("{}");
        let quoted = |text: &str| format!("\"{text}\"");
        let data = data
            .replace("\"RUN\"", &quoted(&run))
            .replace("\"WORKER\"", &quoted(&worker));
        let printed = execute(call, address, &data).await;
        match call.target() {
            "list" => assert!(printed.contains("grpc.health.v1.Health"), "{printed}"),
            "grpc.health.v1.Health/Check" => assert!(printed.contains("SERVING"), "{printed}"),
            "cts.task.v1.TaskService/ListTasks" => assert!(printed.contains("hello"), "{printed}"),
            "cts.cluster.v1.ClusterService/GetCluster" => {
                assert!(printed.contains("\"leader\""), "{printed}");
            }
            _ => {}
        }
    }
}

async fn answer_of(calls: &[Call], target: &str, address: &str) -> serde_json::Value {
    let call = calls.iter().find(|call| call.target().ends_with(target));
    let call = call.unwrap_or_else(|| panic!("the document has no {target}"));
    let data = call.value_of("-d").unwrap_or("{}");
    serde_json::from_str(&execute(call, address, data).await).unwrap()
}

async fn run_of_newest_event(calls: &[Call], address: &str) -> String {
    let answer = answer_of(calls, "/GetTaskState", address).await;
    let run = answer["state"]["events"][0]["runId"].as_str();
    run.expect("an event names its run").to_owned()
}

async fn id_of_worker(calls: &[Call], address: &str) -> String {
    let answer = answer_of(calls, "/ListWorkers", address).await;
    let id = answer["workers"][0]["worker"]["id"].as_str();
    id.expect("a worker has an id").to_owned()
}
