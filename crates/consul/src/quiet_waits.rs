//! The waits of the quiet queries at one address, with a clock and the log.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::wait_limit::{Wait, WaitLimit};

/// The waits of quiet queries at one address.
#[derive(Debug)]
pub(crate) struct QuietWaits {
    started: Instant,
    limit: Mutex<WaitLimit>,
}

impl Default for QuietWaits {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            limit: Mutex::default(),
        }
    }
}

impl QuietWaits {
    /// Whether a query was quiet for so long that a cut may be the limit of a server or proxy.
    pub(crate) fn is_quiet(&self, wait: Wait) -> bool {
        wait.is_quiet(self.started.elapsed())
    }

    pub(crate) fn begin(&self, wanted: Duration) -> Wait {
        self.limit.lock().begin(wanted, self.started.elapsed())
    }

    pub(crate) fn answered(&self, wait: Wait) {
        self.limit.lock().answered(wait, self.started.elapsed());
    }

    /// The connection of the query was cut at this moment, and nothing else has happened.
    pub(crate) fn cut(&self, wait: Wait, at: Instant, address: &str) {
        let at = at.saturating_duration_since(self.started);
        let Some(line) = self.limit.lock().cut(wait, at) else {
            return;
        };
        let wait = line.wait;
        if line.is_warning {
            tracing::warn!(
                address,
                ?wait,
                "consul, or a proxy before it, ends connections that are quiet for some seconds, so that each view is \
                 asked for all the time: raise the limit of the proxy on quiet connections above 5 minutes"
            );
        } else {
            tracing::debug!(
                address,
                ?wait,
                "consul, or a proxy before it, ends quiet connections: queries wait for a shorter time"
            );
        }
    }
}
