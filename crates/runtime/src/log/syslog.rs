//! Syslog on this machine: one datagram for each line (RFC 3164 form, as the system's C library sends
//! it; docs/configuration.md#syslog).

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, Local};

/// Where syslog listens, most usual first.
pub const SYSLOG_SOCKETS: [&str; 3] = ["/dev/log", "/var/run/syslog", "/var/run/log"];

/// Bytes of the longest datagram, as common receivers take it; a longer line is cut, and ends in `…`.
pub const LONGEST_DATAGRAM: usize = 8192;

/// Severity of all lines, as in the original; the level stands in the line.
const NOTICE: u8 = 5;

const CUT: &str = "…";

/// How lines are sent to syslog.
#[derive(Debug, Clone)]
pub struct SyslogSettings {
    /// Number of the facility, 0 to 23.
    pub facility: u8,
    /// Name of the program in each line.
    pub name: String,
    /// Id of this process.
    pub process: u32,
    /// Candidates for the socket: the first that takes datagrams is used; see [`SYSLOG_SOCKETS`].
    pub sockets: Vec<PathBuf>,
}

/// Syslog cannot be reached.
#[derive(Debug, thiserror::Error)]
#[error("syslog is configured, but cannot be reached at {}", shown(sockets))]
pub struct SyslogError {
    sockets: Vec<PathBuf>,
    /// Error of the first socket.
    #[source]
    source: io::Error,
}

fn shown(sockets: &[PathBuf]) -> String {
    let sockets = sockets.iter().map(|path| path.display().to_string());
    sockets.collect::<Vec<_>>().join(", ")
}

/// An open connection to syslog. Sending never waits: while syslog is slow or away, lines are lost and counted.
#[derive(Debug)]
pub(super) struct Syslog {
    socket: UnixDatagram,
    to: PathBuf,
    priority: u8,
    tag: String,
    lost: AtomicU64,
}

/// Result of sending a line.
#[derive(Debug)]
pub(super) enum SendOutcome {
    Sent,
    /// The line is the first that syslog took after so many others were lost.
    SentAfter(u64),
    /// The line is lost, the first after one that was not.
    FirstLost(io::Error),
    Lost,
}

impl Syslog {
    pub(super) fn open(settings: SyslogSettings) -> Result<Self, SyslogError> {
        let mut complaint = None;
        for path in &settings.sockets {
            match reach(path) {
                Ok(socket) => {
                    let name = settings.name.chars();
                    let name: String = name.map(|c| if c.is_control() { '_' } else { c }).collect();
                    return Ok(Self {
                        socket,
                        to: path.clone(),
                        priority: (settings.facility << 3) | NOTICE,
                        tag: format!("{name}[{}]", settings.process),
                        lost: AtomicU64::new(0),
                    });
                }
                Err(error) => complaint = complaint.or(Some(error)),
            }
        }
        Err(SyslogError {
            sockets: settings.sockets,
            source: complaint.unwrap_or_else(|| io::ErrorKind::NotFound.into()),
        })
    }

    /// Sends a line without control characters.
    pub(super) fn send(&self, line: &str, time: &DateTime<Local>) -> SendOutcome {
        let (priority, tag) = (self.priority, &self.tag);
        let time = time.format("%b %e %H:%M:%S");
        let datagram = cut(format!("<{priority}>{time} {tag}: {line}"));
        // By path each time: so a restarted syslog is found without ado.
        match self.socket.send_to(datagram.as_bytes(), &self.to) {
            Ok(_length) => match self.lost.swap(0, Ordering::Relaxed) {
                0 => SendOutcome::Sent,
                lost => SendOutcome::SentAfter(lost),
            },
            Err(error) => match self.lost.fetch_add(1, Ordering::Relaxed) {
                0 => SendOutcome::FirstLost(error),
                _ => SendOutcome::Lost,
            },
        }
    }
}

/// A socket that can send to `path`, which has a listener.
fn reach(path: &Path) -> io::Result<UnixDatagram> {
    UnixDatagram::unbound()?.connect(path)?;
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn cut(mut datagram: String) -> String {
    if datagram.len() > LONGEST_DATAGRAM {
        datagram.truncate(datagram.floor_char_boundary(LONGEST_DATAGRAM - CUT.len()));
        datagram.push_str(CUT);
    }
    datagram
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    struct Receiver {
        directory: TempDir,
        socket: UnixDatagram,
    }

    impl Receiver {
        fn new() -> Self {
            let directory = TempDir::new().unwrap();
            let socket = UnixDatagram::bind(directory.path().join("log")).unwrap();
            Self { directory, socket }
        }

        fn syslog(&self, facility: u8) -> Syslog {
            Syslog::open(SyslogSettings {
                facility,
                name: "cts\nx".into(),
                process: 42,
                sockets: vec![
                    self.directory.path().join("nobody"),
                    self.directory.path().join("log"),
                ],
            })
            .unwrap()
        }

        fn receive(&self) -> String {
            let mut buffer = [0; 2 * LONGEST_DATAGRAM];
            let length = self.socket.recv(&mut buffer).unwrap();
            String::from_utf8(buffer[..length].to_vec()).unwrap()
        }
    }

    fn at(day: u32) -> DateTime<Local> {
        let time = chrono::NaiveDate::from_ymd_opt(2026, 2, day).unwrap();
        let time = time.and_hms_opt(4, 5, 6).unwrap();
        time.and_local_timezone(Local).unwrap()
    }

    #[test]
    fn a_line_is_a_datagram_with_facility_and_name() {
        let receiver = Receiver::new();
        for (facility, day, expected) in [
            (16, 3, "<133>Feb  3 04:05:06 cts_x[42]: a line"),
            (3, 13, "<29>Feb 13 04:05:06 cts_x[42]: a line"),
        ] {
            let sent = receiver.syslog(facility).send("a line", &at(day));
            assert!(matches!(sent, SendOutcome::Sent), "{sent:?}");
            assert_eq!(receiver.receive(), expected);
        }
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let receiver = Receiver::new();
        let line = "ä".repeat(LONGEST_DATAGRAM);
        receiver.syslog(16).send(&line, &at(3));
        let datagram = receiver.receive();
        assert!(datagram.ends_with("ä…"), "{}", datagram.len());
        assert!((LONGEST_DATAGRAM - 1..=LONGEST_DATAGRAM).contains(&datagram.len()));
    }

    #[test]
    fn a_full_socket_loses_lines_instead_of_waiting() {
        let receiver = Receiver::new();
        let syslog = receiver.syslog(16);
        let mut sent = 0;
        while matches!(syslog.send("x", &at(3)), SendOutcome::Sent) {
            sent += 1;
            assert!(sent < 100_000, "never full");
        }
        for _ in 0..9 {
            assert!(matches!(syslog.send("x", &at(3)), SendOutcome::Lost));
        }
        receiver.receive();
        let sent = syslog.send("x", &at(3));
        assert!(matches!(sent, SendOutcome::SentAfter(10)), "{sent:?}");
    }

    #[test]
    fn a_syslog_that_comes_back_is_found() {
        let mut receiver = Receiver::new();
        let syslog = receiver.syslog(16);
        let path = receiver.directory.path().join("log");
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(
            syslog.send("x", &at(3)),
            SendOutcome::FirstLost(_)
        ));
        receiver.socket = UnixDatagram::bind(&path).unwrap();
        assert!(matches!(
            syslog.send("back", &at(3)),
            SendOutcome::SentAfter(1)
        ));
        assert!(receiver.receive().ends_with("back"));
    }

    #[test]
    fn without_anybody_who_listens_there_is_none() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("log");
        let open = || {
            Syslog::open(SyslogSettings {
                facility: 16,
                name: "cts".into(),
                process: 1,
                sockets: vec![path.clone()],
            })
        };
        let error = open().unwrap_err();
        assert!(error.to_string().contains(path.to_str().unwrap()));
        drop(UnixDatagram::bind(&path).unwrap());
        assert_eq!(
            open().unwrap_err().source.kind(),
            io::ErrorKind::ConnectionRefused
        );
    }
}
