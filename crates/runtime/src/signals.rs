//! Signals of the operating system.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

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

    /// The name of the next signal. Cancel safe.
    pub async fn next(&mut self) -> &'static str {
        let [(first, a), (second, b), (third, c)] = &mut self.signals;
        tokio::select! {
            _ = a.recv() => first,
            _ = b.recv() => second,
            _ = c.recv() => third,
        }
    }
}
