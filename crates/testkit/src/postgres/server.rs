//! The processes of a server, from start to readiness to the end.

use std::fmt;
use std::fs;
use std::process::Child;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::{Connection as _, PgConnection};
use tokio::time::{Instant, sleep};

use super::directory::DataDirectory;

const READY_DEADLINE: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Why a server did not become ready.
#[derive(Debug)]
pub(super) struct NotStarted {
    reason: String,
    log: String,
}

impl NotStarted {
    pub(super) fn is_port_clash(&self) -> bool {
        self.log.contains("could not bind") || self.log.contains("Address already in use")
    }
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Postgres {}; its last lines:\n{}", self.reason, self.log)
    }
}

/// A postmaster and the processes that it has started.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
}

impl Server {
    pub(super) fn spawn(directory: &DataDirectory, port: u16) -> Self {
        // The log is of this start only.
        _ = fs::remove_file(directory.log());
        let mut postgres = directory.program("postgres");
        postgres.args(["-D", "data", "-p", &port.to_string()]);
        match postgres.spawn() {
            Ok(child) => Self { child },
            Err(error) => panic!("Postgres cannot be started: {error}"),
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) async fn ready(
        &mut self,
        url: &str,
        directory: &DataDirectory,
    ) -> Result<(), NotStarted> {
        let failed = |reason: String| NotStarted {
            reason,
            log: directory.last_lines(),
        };
        let end = Instant::now() + READY_DEADLINE;
        let mut missing = "no answer yet".to_owned();
        while Instant::now() < end {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(failed(format!("ended with {status}")));
            }
            match answer(url).await {
                Ok(()) => return Ok(()),
                Err(error) => missing = error.to_string(),
            }
            sleep(POLL_INTERVAL).await;
        }
        Err(failed(format!(
            "was not ready within {READY_DEADLINE:?}: {missing}"
        )))
    }

    /// Sends a signal to the postmaster, and waits until it is gone.
    pub(super) async fn end(mut self, signal: Signal, deadline: Duration) {
        let pid = self.pid();
        send(pid, Signal::SIGCONT);
        send(pid, signal);
        let end = Instant::now() + deadline;
        while !self.is_gone() {
            assert!(
                Instant::now() < end,
                "Postgres did not end within {deadline:?} of {signal}"
            );
            sleep(POLL_INTERVAL).await;
        }
    }

    pub(super) async fn kill_all(self, deadline: Duration) {
        // A stopped postmaster makes no new process while they are collected.
        send(self.pid(), Signal::SIGSTOP);
        let children = children_of(self.pid());
        for &child in &children {
            send(child, Signal::SIGKILL);
        }
        self.end(Signal::SIGKILL, deadline).await;
        let end = Instant::now() + deadline;
        while children.iter().any(|&child| parent_of(child).is_some()) {
            assert!(Instant::now() < end, "killed processes of Postgres go on");
            sleep(POLL_INTERVAL).await;
        }
    }

    pub(super) fn signal_all(&self, signal: Signal) {
        send(self.pid(), signal);
        for child in children_of(self.pid()) {
            send(child, signal);
        }
    }

    /// Waits for the end that something else has caused.
    pub(super) fn reap(&mut self) {
        _ = self.child.wait();
    }

    fn is_gone(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }
}

async fn answer(url: &str) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    connection.ping().await?;
    connection.close().await
}

/// A process that is gone needs no signal.
fn send(pid: u32, signal: Signal) {
    if let Ok(pid) = i32::try_from(pid) {
        _ = kill(Pid::from_raw(pid), signal);
    }
}

fn children_of(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| parent_of(pid) == Some(parent)).collect()
}

/// The parent of a process that lives; a zombie does not live.
fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may hold anything.
    let mut fields = status.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(parent)
}
