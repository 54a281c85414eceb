//! One process under test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout};

use crate::DEADLINE;

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Looks at a process that was told to end, before it is killed: ten seconds.
const POLLS: usize = 500;

/// How a process ended.
#[derive(Debug, Clone)]
pub struct Exit {
    /// Its exit code, `None` after a signal.
    pub code: Option<i32>,
    /// Time from the order to end (or from the start) to the end.
    pub took: Duration,
    /// Standard output and standard error.
    pub output: String,
}

/// A process whose output goes to a file. Ended when dropped: gently, then by force.
#[derive(Debug)]
pub struct Process {
    child: Child,
    pid: Pid,
    output: PathBuf,
    started: Instant,
}

impl Process {
    /// Starts `command`; its output is appended to the file `output`.
    pub(crate) fn start(mut command: Command, output: &Path) -> Self {
        let file = File::options()
            .create(true)
            .append(true)
            .open(output)
            .unwrap();
        command
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .kill_on_drop(true);
        let child = command.spawn().unwrap();
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).unwrap();
        Self {
            child,
            pid: Pid::from_raw(pid),
            output: output.to_owned(),
            started: Instant::now(),
        }
    }

    /// What it has printed so far.
    pub fn output(&self) -> String {
        let bytes = std::fs::read(&self.output).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for an end that comes by itself.
    pub async fn wait(mut self) -> Exit {
        let started = self.started;
        self.ended_since(started).await
    }

    /// Sends SIGTERM and waits for the end.
    pub async fn terminate(mut self) -> Exit {
        let told = Instant::now();
        kill(self.pid, Signal::SIGTERM).unwrap();
        self.ended_since(told).await
    }

    /// Sends SIGKILL and waits for the end.
    pub async fn kill(mut self) {
        let told = Instant::now();
        kill(self.pid, Signal::SIGKILL).unwrap();
        self.ended_since(told).await;
    }

    async fn ended_since(&mut self, begun: Instant) -> Exit {
        match timeout(DEADLINE, self.child.wait()).await {
            Ok(status) => Exit {
                code: status.unwrap().code(),
                took: begun.elapsed(),
                output: self.output(),
            },
            Err(elapsed) => panic!(
                "process {}: {elapsed}; it said\n{}",
                self.pid,
                self.output()
            ),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        if std::thread::panicking() {
            let output = self.output();
            let lines: Vec<&str> = output.lines().collect();
            let last = &lines[lines.len().saturating_sub(60)..];
            drop(std::io::Write::write_all(
                &mut std::io::stderr(),
                format!(
                    "the last lines of {}:\n{}\n",
                    self.output.display(),
                    last.join("\n")
                )
                .as_bytes(),
            ));
        }
        let _gone = kill(self.pid, Signal::SIGTERM);
        for _ in 0..POLLS {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        drop(self.child.start_kill());
    }
}
