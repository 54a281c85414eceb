//! Signals of the operating system.

use std::fs;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Number of SIGHUP.
const HANGUP: u32 = 1;

/// The meaning of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The process is to end. With the name of the signal, as the original's log calls it.
    Stop(&'static str),
    /// The process is to read its files again.
    Reload,
}

/// The signals that end a process gracefully, or let it read its files again.
#[derive(Debug)]
pub struct StopSignals {
    stops: [(&'static str, Signal); 3],
    hangup: Option<(Order, Signal)>,
}

impl StopSignals {
    /// Takes over SIGINT, SIGTERM and SIGQUIT from now on, and SIGHUP unless the process was started
    /// with it ignored, as by `nohup`; for executables only. With `reloads` SIGHUP means [`Order::Reload`] in a process
    /// without a terminal, whose end the signal could report. Fails if the process cannot listen to signals.
    pub fn take_over(reloads: bool) -> io::Result<Self> {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let order = if reloads && !has_terminal(&stat) {
            Order::Reload
        } else {
            Order::Stop("hangup")
        };
        let hangup = if is_ignored(&status, HANGUP) {
            None
        } else {
            Some((order, signal(SignalKind::hangup())?))
        };
        Ok(Self {
            stops: [
                ("interrupt", signal(SignalKind::interrupt())?),
                ("terminated", signal(SignalKind::terminate())?),
                ("quit", signal(SignalKind::quit())?),
            ],
            hangup,
        })
    }

    /// The next signal. Cancel safe.
    pub async fn next(&mut self) -> Order {
        let [(first, a), (second, b), (third, c)] = &mut self.stops;
        let hangup = async {
            match &mut self.hangup {
                Some((order, hangup)) => {
                    hangup.recv().await;
                    *order
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = a.recv() => Order::Stop(first),
            _ = b.recv() => Order::Stop(second),
            _ = c.recv() => Order::Stop(third),
            order = hangup => order,
        }
    }
}

/// Whether the process that `stat` of `/proc` is about has a controlling terminal. Without that file it counts as having
/// one.
fn has_terminal(stat: &str) -> bool {
    // The name of the process is in parentheses, and may have any character.
    let after_name = stat.rsplit_once(')').map(|(_, rest)| rest);
    // State, parent, group, session, terminal.
    let terminal = after_name.and_then(|rest| rest.split_whitespace().nth(4));
    terminal != Some("0")
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

    #[test]
    fn a_terminal_is_seen_in_the_status() {
        for (stat, expected) in [
            ("7 (cts) S 1 7 7 0 -1 4194304", false),
            ("7 (cts) S 1 7 7 34816 7 4194304", true),
            ("7 (a) b 0 (c)) S 1 7 7 0 -1", false),
            ("7 (0 0 0 0 0) S 1 7 7 1025 7", true),
            ("", true),
        ] {
            assert_eq!(has_terminal(stat), expected, "{stat}");
        }
    }
}
