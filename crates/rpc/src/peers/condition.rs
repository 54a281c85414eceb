//! Condition of a peer, for display.

use chrono::{DateTime, Utc};

/// The condition of a peer, or of an address that stands for none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCondition {
    /// Configured address.
    pub address: String,
    /// Its socket as text; empty if the address could not be looked up.
    pub socket: String,
    /// Whether the last health check of the peer reported that it serves.
    pub healthy: bool,
    /// Since when that is so; `None` before the first check.
    pub since: Option<DateTime<Utc>>,
    /// Reason why the peer is not healthy, in one line; empty for a healthy peer, and before the first check.
    pub reason: String,
}

impl PeerCondition {
    /// Whether the peer was checked, or its address has no socket.
    pub const fn is_checked(&self) -> bool {
        self.since.is_some() || self.socket.is_empty()
    }
}
