//! Plans and applies.

use serde_json::{Value, json};

use super::super::call::identifier;

/// Which half of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum StageName {
    Plan,
    Apply,
}

/// A plan or an apply.
#[derive(Debug, Clone)]
pub(in super::super) struct Stage {
    pub(in super::super) id: String,
    pub(in super::super) status: &'static str,
    pub(in super::super) log: Vec<u8>,
}

impl Stage {
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            id: identifier(prefix),
            status: "pending",
            log: Vec::new(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(
            self.status,
            "pending" | "managed_queued" | "queued" | "running"
        )
    }

    /// Begins the log.
    pub(in super::super) fn start(&mut self) {
        self.status = "running";
        self.log.push(2);
    }

    /// Ends the log, if it has begun.
    pub(in super::super) fn end(&mut self, status: &'static str) {
        if self.status == "running" {
            self.log.push(3);
        }
        self.status = status;
    }

    pub(in super::super) fn attributes(&self, log: &str) -> Value {
        json!({
            "status": self.status,
            "log-read-url": log,
            "execution-details": {"mode": "remote"},
        })
    }
}
