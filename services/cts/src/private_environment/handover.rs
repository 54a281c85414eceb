//! Passes variables through an execution, in a sealed file in memory.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::close;

/// Name of the file in memory, in lists of open files.
const NAME: &CStr = c"cts-environment";

/// The begin of the content. A change of the format changes the number.
const FORMAT: &[u8] = b"cts environment 1";

/// The end of each part of the content, as in an environment.
const END: u8 = 0;

/// More than the environment of any process: the kernel allows 6 MiB.
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// The first descriptor that is not standard input, output or error.
const FIRST: RawFd = 3;

/// State that one execution of this process passes to the next.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Handover {
    /// Name of the process in lists of processes.
    pub(super) process_name: CString,
    pub(super) variables: BTreeMap<OsString, OsString>,
}

/// The handover cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HandoverError {
    /// The text is not the number of a descriptor beyond the standard ones.
    #[error("it is not the number of a descriptor that cts opens")]
    NoDescriptor,
    /// The descriptor is closed, or another file.
    #[error("the descriptor is not the sealed file that cts makes")]
    NotSealed,
    /// The content has another format.
    #[error("the content of the descriptor is not what cts writes")]
    Content,
    /// The descriptor cannot be read.
    #[error("the descriptor cannot be read")]
    Read(#[from] io::Error),
}

/// Writes a handover into a file in memory that stays open for the next execution.
pub(super) fn seal(handover: &Handover) -> io::Result<OwnedFd> {
    let mut file = File::from(create()?);
    file.write_all(&handover.content())?;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals()))?;
    Ok(file.into())
}

/// Creates a file in memory that can never be executed. Kernels before 6.3 lack that flag; later kernels may demand it.
fn create() -> nix::Result<OwnedFd> {
    let flags = MFdFlags::MFD_ALLOW_SEALING;
    let never_executed = flags | MFdFlags::from_bits_retain(libc::MFD_NOEXEC_SEAL);
    match memfd_create(NAME, never_executed) {
        Err(Errno::EINVAL) => memfd_create(NAME, flags),
        created => created,
    }
}

fn seals() -> SealFlag {
    SealFlag::F_SEAL_SEAL | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_WRITE
}

impl Handover {
    /// Reads the handover from the descriptor `number`, and closes that.
    pub(super) fn take(number: &OsStr) -> Result<Self, HandoverError> {
        let number = number.to_str().and_then(|text| text.parse().ok());
        let number: RawFd = number
            .filter(|number| *number >= FIRST)
            .ok_or(HandoverError::NoDescriptor)?;
        let handover = Self::read(number)?;
        close(number).map_err(io::Error::from)?;
        Ok(handover)
    }

    fn read(number: RawFd) -> Result<Self, HandoverError> {
        let path = format!("/proc/self/fd/{number}");
        // Opening a pipe or a device could block, so only a regular file without a name is opened.
        let metadata = fs::metadata(&path).map_err(|_closed| HandoverError::NotSealed)?;
        if !metadata.is_file() || metadata.nlink() != 0 {
            return Err(HandoverError::NotSealed);
        }
        let file = File::open(path)?;
        let sealed = fcntl(&file, FcntlArg::F_GET_SEALS).map(SealFlag::from_bits_retain);
        if !sealed.is_ok_and(|sealed| sealed.contains(seals())) {
            return Err(HandoverError::NotSealed);
        }
        let mut content = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut content)?;
        Self::of(&content).ok_or(HandoverError::Content)
    }

    fn content(&self) -> Vec<u8> {
        let mut content = Vec::new();
        for part in [FORMAT, self.process_name.as_bytes()] {
            content.extend_from_slice(part);
            content.push(END);
        }
        for (name, value) in &self.variables {
            content.extend_from_slice(name.as_bytes());
            content.push(b'=');
            content.extend_from_slice(value.as_bytes());
            content.push(END);
        }
        content
    }

    fn of(content: &[u8]) -> Option<Self> {
        let mut parts = content.strip_suffix(&[END])?.split(|byte| *byte == END);
        if parts.next()? != FORMAT {
            return None;
        }
        let process_name = CString::new(parts.next()?).ok()?;
        let variables = parts.map(|part| {
            // The standard library accepts names that begin with `=`.
            let equals = part.iter().skip(1).position(|byte| *byte == b'=')? + 1;
            let (name, value) = part.split_at(equals);
            let value = value.strip_prefix(b"=")?;
            Some((owned(name), owned(value)))
        });
        Some(Self {
            process_name,
            variables: variables.collect::<Option<_>>()?,
        })
    }
}

fn owned(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsRawFd as _, IntoRawFd as _};

    use super::*;

    fn handover() -> Handover {
        let variables = [
            ("CONSUL_HTTP_TOKEN", &b"a=b=c"[..]),
            ("CTS_EMPTY", b""),
            ("CTS_LINES", b"one\ntwo"),
            ("VAULT_TOKEN", b"\xff\xfe not UTF-8"),
        ];
        Handover {
            process_name: c"cts".to_owned(),
            variables: variables
                .map(|(name, value)| (name.into(), owned(value)))
                .into(),
        }
    }

    /// Gives up a descriptor without closing it.
    fn given(file: impl Into<OwnedFd>) -> RawFd {
        file.into().into_raw_fd()
    }

    fn take(number: RawFd) -> Result<Handover, HandoverError> {
        Handover::take(number.to_string().as_ref())
    }

    #[test]
    fn variables_arrive_as_they_were_sent() {
        let sent = handover();
        let taken = take(given(seal(&sent).unwrap())).unwrap_or_else(|error| panic!("{error}"));
        assert!(taken == sent, "{:?}", taken.variables);
    }

    #[test]
    fn a_handover_without_variables_arrives() {
        let sent = Handover {
            process_name: c"".to_owned(),
            variables: BTreeMap::new(),
        };
        let taken = take(given(seal(&sent).unwrap()));
        assert!(taken.is_ok_and(|taken| taken == sent));
    }

    #[test]
    fn a_sealed_handover_cannot_be_changed() {
        let mut sealed = File::from(seal(&handover()).unwrap());
        sealed.write_all(b"x").unwrap_err();
        sealed.set_len(1).unwrap_err();
    }

    #[test]
    fn other_descriptors_are_refused_and_stay_open() {
        let (reader, writer) = std::io::pipe().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let named = File::create(directory.path().join("file")).unwrap();
        let nameless = tempfile::tempfile().unwrap();
        let unsealed = create().unwrap();
        let descriptors = [
            reader.as_raw_fd(),
            writer.as_raw_fd(),
            named.as_raw_fd(),
            nameless.as_raw_fd(),
            unsealed.as_raw_fd(),
        ];
        for number in descriptors {
            assert!(matches!(take(number), Err(HandoverError::NotSealed)));
            assert!(fs::metadata(format!("/proc/self/fd/{number}")).is_ok());
        }
    }

    #[test]
    fn numbers_of_no_descriptor_are_refused() {
        for number in ["", "3 ", "+", "2", "-3", "0x3", "99999999999"] {
            let taken = Handover::take(number.as_ref());
            assert!(
                matches!(taken, Err(HandoverError::NoDescriptor)),
                "{number}"
            );
        }
        assert!(matches!(take(RawFd::MAX), Err(HandoverError::NotSealed)));
    }

    #[test]
    fn content_of_another_format_is_refused() {
        for content in [
            &b""[..],
            b"\0",
            b"cts environment 1",
            b"cts environment 1\0",
            b"cts environment 2\0cts\0A=b\0",
            b"cts environment 1\0cts\0A\0",
            b"cts environment 1\0cts\0A=b",
            b"cts environment 1\0cts\0\0",
            b"cts environment 1\0cts\0=\0",
        ] {
            let mut file = File::from(create().unwrap());
            file.write_all(content).unwrap();
            fcntl(&file, FcntlArg::F_ADD_SEALS(seals())).unwrap();
            let number = file.as_raw_fd();
            let taken = take(number);
            assert!(matches!(taken, Err(HandoverError::Content)), "{content:?}");
        }
    }
}
