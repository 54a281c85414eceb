//! Signals of the operating system.

use std::fs;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Number of SIGHUP.
const HANGUP: u32 = 1;

/// The signals that end a process gracefully.
#[derive(Debug)]
pub struct StopSignals {
    signals: [(&'static str, Signal); 3],
    hangup: Option<Signal>,
}

impl StopSignals {
    /// Takes over SIGINT, SIGTERM and SIGQUIT from now on, and SIGHUP unless the process was started
    /// with it ignored, as by `nohup`; for executables only. Fails if the process cannot listen to
    /// signals.
    pub fn take_over() -> io::Result<Self> {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let hangup = if is_ignored(&status, HANGUP) {
            None
        } else {
            Some(signal(SignalKind::hangup())?)
        };
        Ok(Self {
            signals: [
                ("interrupt", signal(SignalKind::interrupt())?),
                ("terminated", signal(SignalKind::terminate())?),
                ("quit", signal(SignalKind::quit())?),
            ],
            hangup,
        })
    }

    /// The name of the next signal, as the original's log calls it. Cancel safe.
    pub async fn next(&mut self) -> &'static str {
        let [(first, a), (second, b), (third, c)] = &mut self.signals;
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = a.recv() => first,
            _ = b.recv() => second,
            _ = c.recv() => third,
            _ = hangup => "hangup",
        }
    }
}

/// Whether the process that `status` of `/proc` is about ignores a signal.
fn is_ignored(status: &str, signal: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_is_seen_in_the_status() {
        let status =
            |mask: &str| format!("Name:\tcts\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\n");
        for (mask, ignored) in [
            ("0000000000000001", true),
            ("0000000000001001", true),
            ("0000000000001000", false),
            ("fffffffffffffffe", false),
            ("nonsense", false),
        ] {
            assert_eq!(is_ignored(&status(mask), HANGUP), ignored, "{mask}");
        }
        assert!(!is_ignored("", HANGUP));
    }
}
