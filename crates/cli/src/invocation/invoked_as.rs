//! The name that the program was invoked as.

use std::ffi::OsStr;
use std::path::Path;

use crate::original;

/// The program that a user sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvokedAs {
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

impl InvokedAs {
    /// That of an executable which was called by the word `called`, as a path or as a link.
    pub fn of(called: &OsStr) -> Self {
        let name = Path::new(called).file_name().and_then(OsStr::to_str);
        let service = |name, command| Self::Service { name, command };
        match name {
            Some(original::NAME) => Self::Original,
            Some("cts-watcher") => service("cts-watcher", "watcher"),
            Some("cts-scheduler") => service("cts-scheduler", "scheduler"),
            Some("cts-worker") => service("cts-worker", "worker"),
            Some("cts-gateway") => service("cts-gateway", "gateway"),
            _ => Self::Ours,
        }
    }

    /// The name to use in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "cts",
            Self::Original => original::NAME,
            Self::Service { name, .. } => name,
        }
    }
}
