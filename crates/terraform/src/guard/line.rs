//! The messages of a worker to its guard: one line each.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One line. Times are counted from the moment of writing, in whole milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// `hold <until the stop begins> <until gone> <directory>`: Terraform may run in a directory.
    Allow {
        directory: PathBuf,
        stop_in: Duration,
        gone_in: Duration,
    },
    /// `interrupted <until SIGTERM> <until gone> <directory>`: the worker has sent the interrupt, and
    /// a second one would do harm.
    Interrupted {
        directory: PathBuf,
        terminate_in: Duration,
        gone_in: Duration,
    },
    /// `release <directory>`: no Terraform runs in a directory any more.
    Release { directory: PathBuf },
    /// `end`: the worker has nothing running and ends.
    End,
}

/// A line that is not part of the protocol.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a line of the guard's protocol")]
pub(crate) struct UnknownLine;

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow {
                directory,
                stop_in,
                gone_in,
            } => {
                write!(f, "hold {} {} ", stop_in.as_millis(), gone_in.as_millis())?;
                write_escaped(f, directory)
            }
            Self::Interrupted {
                directory,
                terminate_in,
                gone_in,
            } => {
                let (terminate_in, gone_in) = (terminate_in.as_millis(), gone_in.as_millis());
                write!(f, "interrupted {terminate_in} {gone_in} ")?;
                write_escaped(f, directory)
            }
            Self::Release { directory } => {
                f.write_str("release ")?;
                write_escaped(f, directory)
            }
            Self::End => f.write_str("end"),
        }
    }
}

impl Line {
    /// Reads a line without its end.
    pub(crate) fn parse(text: &str) -> Result<Self, UnknownLine> {
        let mut words = text.split(' ');
        let line = match words.next() {
            Some("hold") => Self::Allow {
                stop_in: duration(words.next())?,
                gone_in: duration(words.next())?,
                directory: path(words.next())?,
            },
            Some("interrupted") => Self::Interrupted {
                terminate_in: duration(words.next())?,
                gone_in: duration(words.next())?,
                directory: path(words.next())?,
            },
            Some("release") => Self::Release {
                directory: path(words.next())?,
            },
            Some("end") => Self::End,
            _ => return Err(UnknownLine),
        };
        match words.next() {
            None => Ok(line),
            Some(_) => Err(UnknownLine),
        }
    }
}

fn duration(word: Option<&str>) -> Result<Duration, UnknownLine> {
    word.and_then(|word| word.parse().ok())
        .map(Duration::from_millis)
        .ok_or(UnknownLine)
}

/// Letters, digits and the usual signs of paths as they are, every other byte as `%` and two digits.
fn write_escaped(f: &mut fmt::Formatter<'_>, path: &Path) -> fmt::Result {
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/.-_".contains(byte) {
            write!(f, "{}", char::from(*byte))?;
        } else {
            write!(f, "%{byte:02x}")?;
        }
    }
    Ok(())
}

fn path(word: Option<&str>) -> Result<PathBuf, UnknownLine> {
    let mut rest = word.ok_or(UnknownLine)?.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2).ok_or(UnknownLine)?;
        rest = after;
        let digit = |byte: u8| {
            char::from(byte)
                .to_digit(16)
                .and_then(|d| u8::try_from(d).ok())
        };
        match (digit(digits[0]), digit(digits[1])) {
            (Some(high), Some(low)) => bytes.push(high << 4 | low),
            _ => return Err(UnknownLine),
        }
    }
    if bytes.is_empty() {
        return Err(UnknownLine);
    }
    Ok(OsString::from_vec(bytes).into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_reads_as_agreed() {
        let line = Line::Allow {
            directory: "/srv/sync tasks/ä\n".into(),
            stop_in: Duration::from_secs(15),
            gone_in: Duration::from_secs(29),
        };
        assert_eq!(
            line.to_string(),
            "hold 15000 29000 /srv/sync%20tasks/%c3%a4%0a"
        );
        assert_eq!(Line::parse("end"), Ok(Line::End));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "hold",
            "hold 1 2",
            "hold 1 x /a",
            "hold -1 2 /a",
            "hold 1 2 /a /b",
            "release",
            "release ",
            "release /a%4",
            "release /a%zz",
            "release /a%+1",
            "end now",
            "halt",
        ] {
            assert_eq!(Line::parse(text), Err(UnknownLine), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_line_survives_the_way(
            bytes in proptest::collection::vec(1_u8.., 1..80),
            first in any::<u64>(),
            second in any::<u64>(),
            kind in 0..3,
        ) {
            let directory = PathBuf::from(OsString::from_vec(bytes));
            let (first, second) = (Duration::from_millis(first), Duration::from_millis(second));
            let line = match kind {
                0 => Line::Allow { directory, stop_in: first, gone_in: second },
                1 => Line::Interrupted { directory, terminate_in: first, gone_in: second },
                _ => Line::Release { directory },
            };
            let text = line.to_string();
            prop_assert!(!text.contains('\n'));
            prop_assert_eq!(Line::parse(&text), Ok(line));
        }
    }
}
