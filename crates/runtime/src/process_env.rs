//! Surroundings of a process, read once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use cts_core::Clock;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use sysinfo::{MemoryRefreshKind, Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System};

use crate::log::LogFormat;

/// Programs that look at each descriptor which they may have take long with more.
const MOST_DESCRIPTORS: u64 = 65_536;

/// Environment, directory, host name and time, passed to everything that needs them.
#[derive(Debug, Clone)]
pub struct ProcessEnv {
    /// Name of the program for messages: that of the executable, or the one that it was called by.
    pub program: &'static str,
    /// Environment variables.
    pub environment: BTreeMap<OsString, OsString>,
    /// Directory that relative paths are relative to.
    pub current_dir: PathBuf,
    /// Name of this host.
    pub hostname: String,
    /// The present boot of the machine, if the system reports it.
    pub boot: Option<String>,
    /// Bytes of memory that this process and its children may use, if the system reports it.
    pub memory: Option<u64>,
    /// Files that this process may have open.
    pub descriptors: u64,
    /// Whether this process has all rights.
    pub is_root: bool,
    /// Wall-clock time.
    pub clock: Arc<dyn Clock>,
    /// Format of the log, also of the processes that this one starts.
    pub log_format: LogFormat,
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the real time comes in"
    )]
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}

impl ProcessEnv {
    /// The surroundings of this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the process"
    )]
    pub fn of_this_process() -> io::Result<Self> {
        Ok(Self {
            program: "cts",
            environment: std::env::vars_os().collect(),
            current_dir: std::env::current_dir()?,
            hostname: hostname::get()?.to_string_lossy().into_owned(),
            boot: boot(),
            memory: memory(),
            descriptors: getrlimit(Resource::RLIMIT_NOFILE)?.0,
            is_root: nix::unistd::geteuid().is_root(),
            clock: Arc::new(SystemClock),
            log_format: LogFormat::default(),
        })
    }

    /// Lets this process open as many files as its user may, up to a number that programs it starts can cope with.
    pub fn raise_descriptors(&mut self) {
        let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
            let wanted = hard.min(MOST_DESCRIPTORS).max(soft);
            setrlimit(Resource::RLIMIT_NOFILE, wanted, hard)?;
            Ok(wanted)
        });
        // The limit stays unchanged if this fails.
        if let Ok(raised) = raised {
            self.descriptors = raised;
        }
    }

    /// The variables whose names and values are text.
    pub fn text_environment(&self) -> BTreeMap<String, String> {
        self.environment
            .iter()
            .filter_map(|(name, value)| Some((name.to_str()?.into(), value.to_str()?.into())))
            .collect()
    }
}

/// The memory of the machine, or less if the control group of this process has less.
fn memory() -> Option<u64> {
    let pid = Pid::from_u32(std::process::id());
    let mut system = System::new().ok()?;
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[pid]),
        false,
        ProcessRefreshKind::nothing(),
    );
    let machine = Some(system.total_memory()).filter(|&bytes| bytes > 0);
    let group = system.process(pid).and_then(Process::cgroup_limits);
    let group = group
        .map(|limits| limits.total_memory)
        .filter(|&bytes| bytes > 0);
    machine.into_iter().chain(group).min()
}

/// Text that differs after every start of the machine; `None` on a system without it.
fn boot() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
