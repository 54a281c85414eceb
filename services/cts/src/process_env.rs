//! What a process finds around itself, asked once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use cts_core::{Clock, SystemClock};

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
    /// The present boot of the machine, where the system says it.
    pub boot: Option<String>,
    /// Wall-clock time.
    pub clock: Arc<dyn Clock>,
}

impl ProcessEnv {
    /// Those of this process.
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
            clock: Arc::new(SystemClock),
        })
    }

    /// The variables whose names and values are text.
    pub(crate) fn text_environment(&self) -> BTreeMap<String, String> {
        self.environment
            .iter()
            .filter_map(|(name, value)| Some((name.to_str()?.into(), value.to_str()?.into())))
            .collect()
    }
}

/// Another text after every start of the machine; `None` where there is none.
fn boot() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
