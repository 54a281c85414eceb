//! A process of cts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::measures::report::say;
use crate::measures::usage::{Usage, with_twins};

/// Time for cts to end, which interrupts Terraform first and waits for it.
const STOP_DEADLINE: Duration = Duration::from_secs(45);

/// Time between two measurements of the memory of a process that ends soon.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// Lines of a log that are shown after a failure.
const LOG_LINES_SHOWN: usize = 30;

/// Arguments for the start of a process.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    /// Names the process here, and its log.
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
}

impl Launch {
    pub(crate) fn new(name: &str, arguments: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        }
    }
}

/// A running process; killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    child: Child,
    pid: Pid,
    executable: PathBuf,
    log: PathBuf,
}

impl Process {
    /// Starts it in a process group of its own, so that Ctrl-C does not reach it.
    pub(crate) fn start(
        executable: &Path,
        launch: &Launch,
        directory: &Path,
        environment: &BTreeMap<OsString, OsString>,
    ) -> Result<Self> {
        let name = launch.name.clone();
        let log = directory.join(format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log);
        let file = file.context("cannot create the log of cts")?;
        let child = Command::new(executable)
            .args(&launch.arguments)
            .current_dir(directory)
            .env_clear()
            .envs(environment)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", executable.display()))?;
        let pid = child.id().context("cts has no process id")?;
        let pid = Pid::from_raw(pid.try_into().context("strange process id")?);
        Ok(Self {
            name,
            child,
            pid,
            executable: executable.to_owned(),
            log,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        kill(self.pid, signal).with_context(|| format!("cannot signal {}", self.name))
    }

    /// Ends it as an operator would; fails if it does not end well.
    pub(crate) async fn stop(self) -> Result<()> {
        self.signal(Signal::SIGTERM)?;
        self.ended().await
    }

    /// Waits for the good end of a process that was signalled, or ends by itself.
    pub(crate) async fn ended(mut self) -> Result<()> {
        let ended = match timeout(STOP_DEADLINE, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(anyhow!("{} ended with {status}", self.name)),
            Ok(Err(error)) => Err(error).context("cannot wait for cts"),
            Err(_elapsed) => {
                self.child.kill().await.context("cannot kill cts")?;
                let name = &self.name;
                Err(anyhow!(
                    "{name} did not end within {STOP_DEADLINE:?} and was killed"
                ))
            }
        };
        if ended.is_err() {
            self.show_log();
        }
        ended
    }

    /// Waits for the good end of a process that ends by itself; returns its highest observed memory, in
    /// mebibytes.
    pub(crate) async fn watched_to_its_end(mut self) -> Result<f64> {
        let mut most = 0.0_f64;
        loop {
            if let Ok(usage) = Usage::of(self.pid) {
                most = most.max(usage.rss_peak);
            }
            if let Ok(ended) = timeout(BETWEEN_LOOKS, self.child.wait()).await {
                let status = ended.context("cannot wait for cts")?;
                if status.success() {
                    return Ok(most);
                }
                self.show_log();
                return Err(anyhow!("{} ended with {status}", self.name));
            }
        }
    }

    /// Kills it, and waits until it is gone.
    pub(crate) async fn kill(mut self) -> Result<()> {
        let killed = self.child.kill().await;
        killed.with_context(|| format!("cannot kill {}", self.name))
    }

    /// Usage of this process and of the copies of itself that it has started.
    pub(crate) fn usage(&self) -> Result<Usage> {
        with_twins(self.pid, &self.executable)
    }

    /// The end of its log, on standard error.
    pub(crate) fn show_log(&self) {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let shown = &lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..];
        say(&format!(
            "the last lines of the log of {}:\n{}",
            self.name,
            shown.join("\n")
        ));
    }
}
