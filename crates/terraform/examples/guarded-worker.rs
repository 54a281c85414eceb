//! Plays a worker with its guard for the tests in `tests/it`, which kill and stop it.
//!
//! `guarded-worker guard <id>` is the guard; `guarded-worker worker <id> <task directory>
//! <terraform> <stop in ms> <gone in ms>` runs one apply under it, with Terraform's output on standard
//! output, and never ends.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a part of the tests"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cts_core::{EngineKind, StepTimeouts, TaskName};
use cts_terraform::guard::{Guard, GuardCommand, GuardSettings, serve};
use cts_terraform::{
    Attempt, ChildEnvironment, EnvironmentSources, Executable, InheritedEnvironment, OutputLine,
    OutputSink, StopPolicy, StopSignal, TaskDirectory, Terraform,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

struct Print;

impl OutputSink for Print {
    fn line(&self, line: OutputLine) {
        println!("{}", line.text);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["guard", id] => {
            serve(std::io::stdin(), std::io::stderr(), GuardSettings::new(id)).unwrap();
        }
        ["worker", id, directory, terraform, stop_in, gone_in] => {
            let times = [stop_in, gone_in].map(|text| Duration::from_millis(text.parse().unwrap()));
            tokio::runtime::Runtime::new()
                .unwrap()
                .block_on(work(id, directory, terraform, times));
        }
        _ => panic!("for the tests of this package only"),
    }
}

async fn work(id: &str, directory: &str, terraform: &str, [stop_in, gone_in]: [Duration; 2]) {
    let command = GuardCommand {
        program: "/proc/self/exe".into(),
        arguments: vec!["guard".into(), id.into()],
        environment: std::env::vars_os().collect(),
        worker: id.to_owned(),
    };
    let (guard, keeper) = Guard::start(command).unwrap();
    let inherited: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let root = Path::new("/");
    let executable = Executable::at(EngineKind::Terraform, terraform.into(), &inherited, root)
        .await
        .unwrap();
    let task = TaskName::new("edge").unwrap();
    let directory = TaskDirectory::new(directory, root);
    let sources = EnvironmentSources {
        inherited: &InheritedEnvironment::of(&inherited),
        tracing: &[],
        backend: &[],
        task_env: &[],
        lock_timeout: None,
        persist_log: false,
        worker: Some(id),
    };
    let attempt = Attempt {
        environment: ChildEnvironment::new(sources, &task, &directory),
        task,
        directory: directory.clone(),
        output: Arc::new(Print),
        stop: StopSignal::new(StopPolicy::default()),
        timeouts: StepTimeouts::default(),
    };
    let terraform = Terraform::new(executable, TaskTracker::new());
    let now = Instant::now();
    guard.allow(&directory, now + stop_in, now + gone_in);
    let apply = async {
        println!("starting");
        println!("{:?}", terraform.apply(&attempt).await);
        std::future::pending::<()>().await;
    };
    tokio::join!(apply, keeper.keep(CancellationToken::new()));
}
