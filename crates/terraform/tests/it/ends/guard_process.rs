//! Workers and guards as processes of their own, see `examples/guarded-worker.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use cts_terraform::TaskDirectory;
use cts_terraform::guard::{Guard, GuardCommand, GuardKeeper};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::fixture::clean_environment;

/// The executable that plays workers and guards.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // Tests are in `target/<profile>/deps`.
    let directory = test.parent().and_then(Path::parent).unwrap();
    let path = directory.join("examples/guarded-worker");
    assert!(
        path.is_file(),
        "{} is missing: run `cargo build -p cts-terraform --examples` first",
        path.display()
    );
    path
}

/// A worker with its guard and one apply.
pub(crate) struct WorkerProcess {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl WorkerProcess {
    /// Starts it.
    pub(crate) fn start(
        id: &str,
        directory: &Path,
        terraform: &Path,
        times: [Duration; 2],
    ) -> Self {
        let mut process = Command::new(program())
            .args(["worker", id])
            .arg(directory)
            .arg(terraform)
            .args(times.map(|time| time.as_millis().to_string()))
            .env_clear()
            .envs(clean_environment(directory))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// Waits until it prints a line with `text`.
    pub(crate) async fn print(&mut self, text: &str) {
        while let Some(line) = self.lines.next_line().await.unwrap() {
            if line.contains(text) {
                return;
            }
        }
        panic!("the worker ended without {text:?}");
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.process.id().unwrap()).unwrap();
        kill(Pid::from_raw(id), signal).unwrap();
    }

    /// Kills the worker and waits until its guard has ended, too; returns the messages of the guard.
    pub(crate) async fn kill_and_outlive_guard(mut self) -> String {
        self.process.kill().await.unwrap();
        // The guard has this pipe from the worker.
        let mut said = String::new();
        let mut stderr = self.process.stderr.take().unwrap();
        stderr.read_to_string(&mut said).await.unwrap();
        said
    }
}

/// A guard of this process.
pub(crate) fn start_guard(id: &str) -> (Guard, GuardKeeper) {
    let command = GuardCommand {
        program: program(),
        arguments: vec!["guard".into(), id.into()],
        environment: std::env::vars_os().collect(),
        worker: id.to_owned(),
    };
    Guard::start(command).unwrap()
}

/// The living guards of a worker.
pub(crate) fn guards_of(id: &str) -> Vec<Pid> {
    processes_with(&format!("CTS_GUARD={id}"))
}

/// The living processes with `variable` in their environment.
pub(crate) fn processes_with(variable: &str) -> Vec<Pid> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap() {
        let process = process.unwrap();
        let name = process.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process that has ended has no environment any more.
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        if environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == variable.as_bytes())
        {
            found.push(Pid::from_raw(number));
        }
    }
    found
}

/// Runs the script `terraform` in `directory` as a worker would, without one.
pub(crate) fn run_marked(id: &str, directory: &TaskDirectory, terraform: &Path) -> Child {
    Command::new(terraform)
        .arg("apply")
        .current_dir(directory.path())
        .env("CTS_WORKER", id)
        .env("CTS_TASK_DIR", directory.path())
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}
