//! Signals of the operating system.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The signals that end a process gracefully.
#[derive(Debug)]
pub struct StopSignals {
    signals: [(&'static str, Signal); 3],
}

impl StopSignals {
    /// Takes over SIGINT, SIGTERM and SIGQUIT from now on; for executables only. Fails if the process
    /// cannot listen to signals.
    pub fn take_over() -> io::Result<Self> {
        Ok(Self {
            signals: [
                ("SIGINT", signal(SignalKind::interrupt())?),
                ("SIGTERM", signal(SignalKind::terminate())?),
                ("SIGQUIT", signal(SignalKind::quit())?),
            ],
        })
    }

    /// Cancels `shutdown` with the first signal and returns. Later ones are ignored, because they stay
    /// taken over (spec/cli.md 7).
    pub async fn cancel_on_first(mut self, shutdown: CancellationToken) {
        let [(first, a), (second, b), (third, c)] = &mut self.signals;
        let name = tokio::select! {
            _ = a.recv() => *first,
            _ = b.recv() => *second,
            _ = c.recv() => *third,
        };
        tracing::info!(target: "cli", signal = name, "signal received to initiate graceful shutdown");
        shutdown.cancel();
    }
}
