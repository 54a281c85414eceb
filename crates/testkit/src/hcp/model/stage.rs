//! Plans and applies.

use serde_json::{Value, json};

use super::identifier;

/// Resources that a plan or an apply counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) struct Counts {
    pub(in super::super) additions: u64,
    pub(in super::super) changes: u64,
    pub(in super::super) destructions: u64,
    pub(in super::super) imports: u64,
}

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
    pub(in super::super) counts: Option<Counts>,
}

impl Stage {
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            id: identifier(prefix),
            status: "pending",
            log: Vec::new(),
            counts: None,
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
        let counts = self.counts.unwrap_or_default();
        json!({
            "status": self.status,
            "log-read-url": log,
            "execution-details": {"mode": "remote"},
            "resource-additions": counts.additions,
            "resource-changes": counts.changes,
            "resource-destructions": counts.destructions,
            "resource-imports": counts.imports,
        })
    }
}
