//! Whom the program is: the name that it was called by.

use std::ffi::OsStr;
use std::path::Path;

use crate::program::Program;

/// Name of the program whose configuration and command line are ours too.
const ORIGINAL: &str = "consul-terraform-sync";

/// The program that a user sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Personality {
    /// `cts`, with everything.
    Ours,
    /// `consul-terraform-sync`: its commands and options, and no others.
    Original,
    /// One service, whose command is understood.
    Service {
        /// Name of the executable.
        name: &'static str,
        /// Its command.
        command: &'static str,
    },
}

impl Personality {
    /// That of an executable which was called by the word `called`.
    pub(crate) fn new(program: Program, called: Option<&OsStr>) -> Self {
        let service = |name, command| Self::Service { name, command };
        match program {
            Program::All if is_original(called) => Self::Original,
            Program::All => Self::Ours,
            Program::Watcher => service("cts-watcher", "watcher"),
            Program::Scheduler => service("cts-scheduler", "scheduler"),
            Program::Worker => service("cts-worker", "worker"),
            Program::Gateway => service("cts-gateway", "gateway"),
        }
    }

    /// The name to use in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "cts",
            Self::Original => ORIGINAL,
            Self::Service { name, .. } => name,
        }
    }
}

fn is_original(called: Option<&OsStr>) -> bool {
    called.and_then(|called| Path::new(called).file_name()) == Some(OsStr::new(ORIGINAL))
}
