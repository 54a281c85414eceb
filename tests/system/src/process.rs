//! One process under test.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use cts_testkit::eventually;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout};

use crate::DEADLINE;

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Polls of a process that is to end, before it is killed: ten seconds.
const POLLS: usize = 500;
const POLLS_PER_ORDER: usize = 10;

/// Time between two orders to end.
const INSISTENCE: Duration = Duration::from_millis(200);
/// Lines of its output that are shown of each process when a test fails.
const LINES_SHOWN: usize = 80;

/// How a process ended.
#[derive(Debug, Clone)]
pub struct Exit {
    /// Its exit code, `None` after a signal.
    pub code: Option<i32>,
    /// Time from the order to end (or from the start) to the end.
    pub took: Duration,
    /// Standard output and standard error.
    pub output: String,
    /// The program with its arguments.
    pub command: String,
}

impl Exit {
    /// Asserts that it ended with this code.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.command, self.output);
        self
    }

    /// Asserts that the output has each of these parts.
    #[track_caller]
    pub fn says(&self, parts: impl IntoIterator<Item: AsRef<str>>) {
        for part in parts {
            let (
                part,
                Self {
                    command, output, ..
                },
            ) = (part.as_ref(), self);
            assert!(
                output.contains(part),
                "no {part:?} from {command}:\n{output}"
            );
        }
    }

    /// Asserts that the log has lines that begin with these texts, after the time, in this order.
    #[track_caller]
    pub fn logs_in_order(&self, expected: &[&str]) {
        let mut lines = self.output.lines();
        for text in expected {
            let found = lines.any(|line| {
                line.split_once(' ')
                    .is_some_and(|(_time, rest)| rest.starts_with(text))
            });
            assert!(found, "{text} is missing or too early:\n{}", self.output);
        }
    }
}

/// Waits until an output has `text`.
pub(crate) async fn until_written(output: impl Fn() -> String, text: &str) {
    eventually(DEADLINE, async || {
        let output = output();
        output.contains(text).then_some(()).ok_or(output)
    })
    .await;
}

/// A process whose output goes to a file. Ended when dropped: gently, then by force.
#[derive(Debug)]
pub struct Process {
    child: Child,
    pid: Pid,
    command: String,
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
        let words =
            std::iter::once(command.as_std().get_program()).chain(command.as_std().get_args());
        let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
        let words = words.join(" ");
        let child = command.spawn().unwrap();
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).unwrap();
        Self {
            child,
            pid: Pid::from_raw(pid),
            command: words,
            output: output.to_owned(),
            started: Instant::now(),
        }
    }

    /// Its output so far.
    pub fn output(&self) -> String {
        let bytes = std::fs::read(&self.output).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until its output has `text`.
    pub async fn until_logged(&self, text: &str) {
        until_written(|| self.output(), text).await;
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Process id.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Sends a signal, if it still runs.
    pub fn signal(&self, signal: Signal) {
        let _gone = kill(self.pid, signal);
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

    /// Sends SIGTERM again and again until the end: the first orders a worker to finish its runs, the next ones
    /// to interrupt them.
    pub async fn terminate_insistently(mut self) -> Exit {
        let told = Instant::now();
        let pid = self.pid;
        let insisting = async {
            loop {
                let _gone = kill(pid, Signal::SIGTERM);
                tokio::time::sleep(INSISTENCE).await;
            }
        };
        tokio::select! {
            exit = self.ended_since(told) => exit,
            () = insisting => unreachable!("it never gives up"),
        }
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
                command: self.command.clone(),
            },
            Err(elapsed) => panic!(
                "process {}: {elapsed}; it said\n{}",
                self.pid,
                self.output()
            ),
        }
    }
}

/// Shows the last lines of a log with a failed test.
pub(crate) fn show(name: &str, output: &str) {
    let lines: Vec<&str> = output.lines().collect();
    let last = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
    let text = format!("the last lines of {name}:\n{}\n", last.join("\n"));
    drop(std::io::Write::write_all(
        &mut std::io::stderr(),
        text.as_bytes(),
    ));
}

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            show(&self.output.display().to_string(), &self.output());
        }
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        self.signal(Signal::SIGCONT);
        for poll in 0..POLLS {
            // More than once: a worker finishes its runs after the first.
            if poll % POLLS_PER_ORDER == 0 {
                self.signal(Signal::SIGTERM);
            }
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        drop(self.child.start_kill());
    }
}
