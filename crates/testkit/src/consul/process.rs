//! The process of an agent, from start to readiness to its end.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout};

use crate::ports::free_port;
use crate::programs::consul_path;

const READY_DEADLINE: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Polls of a process that gets SIGSTOP: ten seconds.
const FREEZE_POLLS: usize = 10_000;
const LOG: &str = "consul.log";
const PORTS: &str = "ports.json";
const CONFIGURATION: &str = "consul.json";
const DATA: &str = "data";

/// Name of the agent's node.
pub(super) const NODE: &str = "cts-test";

/// Data that an agent keeps over a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    /// Nothing: it is in development mode.
    Memory,
    /// Everything that it has confirmed.
    Disk,
}

/// The ports of an agent, all on 127.0.0.1.
#[derive(Debug)]
pub(super) struct Ports {
    http: u16,
    server: u16,
    serf_lan: u16,
    serf_wan: u16,
}

impl Ports {
    pub(super) fn choose() -> Self {
        Self {
            http: free_port(),
            server: free_port(),
            serf_lan: free_port(),
            serf_wan: free_port(),
        }
    }

    fn configuration(&self, has_grpc_tls: bool) -> Value {
        let mut ports = json!({
            "http": self.http, "server": self.server,
            "serf_lan": self.serf_lan, "serf_wan": self.serf_wan,
            "dns": -1, "grpc": -1, "https": -1,
        });
        if has_grpc_tls {
            ports["grpc_tls"] = json!(-1);
        }
        json!({ "ports": ports })
    }

    pub(super) fn http_address(&self) -> String {
        format!("127.0.0.1:{}", self.http)
    }

    pub(super) fn wan_address(&self) -> String {
        format!("127.0.0.1:{}", self.serf_wan)
    }
}

/// Why an agent did not become ready.
#[derive(Debug)]
pub(super) struct NotStarted {
    reason: String,
    log: String,
}

impl NotStarted {
    pub(super) fn is_port_clash(&self) -> bool {
        self.log.contains("address already in use")
    }
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Consul {}; its last lines:\n{}", self.reason, self.log)
    }
}

/// A running agent; killed when dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    pid: u32,
}

pub(super) fn write_configuration(directory: &Path, configuration: &Value) {
    write_json(directory, CONFIGURATION, configuration);
}

/// Removes the data of an agent that does not run.
pub(super) fn forget_data(directory: &Path) {
    match std::fs::remove_dir_all(directory.join(DATA)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            panic!("cannot remove the data of Consul: {error}")
        }
        _removed_or_absent => {}
    }
}

fn write_json(directory: &Path, name: &str, value: &Value) {
    if let Err(error) = std::fs::write(directory.join(name), value.to_string()) {
        panic!("cannot write {name}: {error}");
    }
}

impl Process {
    /// Starts an agent and waits until the cluster has a leader and the catalog all of this node.
    pub(super) async fn start(
        directory: &Path,
        ports: &Ports,
        storage: Storage,
        client: &Client,
    ) -> Result<Self, NotStarted> {
        let log_path = directory.join(LOG);
        let failed = |reason: String| NotStarted {
            reason,
            log: last_lines(&log_path),
        };
        let mut process = spawn(directory, ports, storage, &log_path)
            .await
            .map_err(|error| failed(format!("cannot be started: {error}")))?;
        let end = Instant::now() + READY_DEADLINE;
        let mut missing = "no answer yet".to_owned();
        while Instant::now() < end {
            if let Ok(Some(status)) = process.child.try_wait() {
                return Err(failed(format!("ended with {status}")));
            }
            match readiness(&ports.http_address(), client).await {
                Ok(()) => return Ok(process),
                Err(reason) => missing = reason,
            }
            sleep(POLL_INTERVAL).await;
        }
        Err(failed(format!(
            "was not ready within {READY_DEADLINE:?}: {missing}"
        )))
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Stops every thread, and waits until none is at work any more: the signal alone lets them finish what
    /// they are about.
    pub(super) fn freeze(&self) {
        self.signal(Signal::SIGSTOP);
        for _ in 0..FREEZE_POLLS {
            if self.stands_still() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("Consul ({}) does not stand still", self.pid);
    }

    fn stands_still(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid));
        let mut threads = threads.into_iter().flatten().flatten();
        threads.all(|thread| {
            let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            // One that has just ended has no state.
            stat.rsplit_once(") ")
                .is_none_or(|(_, fields)| fields.starts_with('T'))
        })
    }

    pub(super) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid).map(Pid::from_raw);
        let pid = pid.unwrap_or_else(|error| panic!("strange process id {}: {error}", self.pid));
        if let Err(error) = kill(pid, signal) {
            panic!("cannot send {signal} to Consul ({}): {error}", self.pid);
        }
    }

    /// Sends `signal` and waits until the process is gone.
    pub(super) async fn end(mut self, signal: Signal, deadline: Duration) -> ExitStatus {
        self.signal(signal);
        match timeout(deadline, self.child.wait()).await {
            Ok(Ok(status)) => status,
            Ok(Err(error)) => panic!("cannot wait for Consul: {error}"),
            Err(elapsed) => panic!("Consul did not end within {deadline:?} of {signal}: {elapsed}"),
        }
    }
}

async fn spawn(
    directory: &Path,
    ports: &Ports,
    storage: Storage,
    log_path: &Path,
) -> std::io::Result<Process> {
    let log = File::create(log_path)?;
    let program = consul_path();
    let has_grpc_tls = has_grpc_tls(&program).await;
    let mut configuration = ports.configuration(has_grpc_tls);
    if storage == Storage::Disk {
        configuration["data_dir"] = json!(directory.join(DATA));
        // As quick to find a leader as in development mode.
        configuration["performance"] = json!({"raft_multiplier": 1});
    }
    write_json(directory, PORTS, &configuration);
    let mut command = Command::new(&program);
    command
        .args(["agent", "-bind=127.0.0.1", "-client=127.0.0.1"])
        .args(match storage {
            Storage::Memory => &["-dev"][..],
            Storage::Disk => &["-server", "-bootstrap-expect=1", "-log-level=info"],
        })
        .arg(format!("-node={NODE}"))
        // The later file wins, so a test can open what is closed here.
        .arg("-config-file")
        .arg(directory.join(PORTS))
        .arg("-config-file")
        .arg(directory.join(CONFIGURATION))
        .current_dir(directory)
        // Nothing of the caller's Consul may leak in, such as a token or an address.
        .env_clear()
        .env("TMPDIR", directory.parent().unwrap_or(directory))
        .env("HOME", directory)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .kill_on_drop(true);
    let child = command.spawn()?;
    let pid = child.id().unwrap_or_default();
    Ok(Process { child, pid })
}

/// Since 1.14 a development agent opens a second gRPC port, a setting that older ones do not know.
async fn has_grpc_tls(program: &PathBuf) -> bool {
    static KNOWN: OnceCell<bool> = OnceCell::const_new();
    let ask = async || {
        let output = Command::new(program).arg("version").output().await;
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut numbers = text
            .split_once('v')
            .map_or("", |(_, version)| version)
            .split(|c: char| !c.is_ascii_digit())
            .map_while(|number| number.parse::<u32>().ok());
        (numbers.next(), numbers.next()) >= (Some(1), Some(14))
    };
    *KNOWN.get_or_init(ask).await
}

/// Returns the condition that is missing until the agent can be used.
async fn readiness(address: &str, client: &Client) -> Result<(), String> {
    let get = async |path: &str| -> Result<Value, String> {
        let answer = client.get(format!("http://{address}{path}")).send().await;
        let answer = answer.and_then(reqwest::Response::error_for_status);
        let answer = answer.map_err(|error| error.to_string())?;
        answer.json().await.map_err(|error| error.to_string())
    };
    if get("/v1/status/leader").await? == json!("") {
        return Err("no leader".into());
    }
    let path = format!("/v1/health/node/{NODE}");
    let checks = get(&path).await?;
    let alive = checks.as_array().is_some_and(|checks| {
        let is_alive = |check: &Value| {
            check["CheckID"] == json!("serfHealth") && check["Status"] == json!("passing")
        };
        checks.iter().any(is_alive)
    });
    if !alive {
        return Err(format!("the node is not in the catalog: {checks}"));
    }
    // The agent registers the rest of its node a little later, which would be a change of every instance on it.
    // Other reads than consistent ones may show what there was before the end of the log that a leader reads at its
    // start.
    let node = get(&format!("/v1/catalog/node/{NODE}?consistent")).await?;
    match node["Node"]["TaggedAddresses"].as_object() {
        Some(addresses) if !addresses.is_empty() => Ok(()),
        _ => Err(format!("the node is not complete: {node}")),
    }
}

fn last_lines(path: &Path) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
