//! From an archive to a directory, without trusting the archive.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cts_core::Digest;
use tar::{Entry, EntryType};
use zstd::stream::read::Decoder;

use crate::content::ContentHasher;
use crate::limits::Limits;

/// Mode of directories, equal to that of task directories.
pub(crate) const DIRECTORY_MODE: u32 = 0o750;

/// Mode of unpacked files, equal to that of files in task directories.
const FILE_MODE: u32 = 0o640;
const EXECUTABLE_MODE: u32 = 0o750;

/// Largest window that the decompressor may ask for, as a power of two: 8 MiB, more than packing uses.
const MAX_WINDOW_LOG: u32 = 23;

/// Bytes that an entry may need in the archive in addition to its content: headers, a long name, padding.
const BYTES_PER_ENTRY: u64 = 8 * 1024;

/// An archive cannot be unpacked. Paths inside it are shown as text that may stand for other bytes.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The bytes are cut off, or not an archive.
    #[error("the bundle is damaged")]
    Damaged(#[source] io::Error),
    /// An entry is not plainly inside the bundle.
    #[error("the bundle has an entry {path:?}, which is no plain relative path")]
    Path {
        /// Its path.
        path: String,
    },
    /// An entry is a link, a device or the like; [`crate::pack()`] makes none.
    #[error("the bundle has an entry {path:?} that is neither file nor directory")]
    Kind {
        /// Its path.
        path: String,
    },
    /// Entries are not in order, or an entry comes twice, or its directory is missing.
    #[error("the bundle has an entry {path:?} twice or in the wrong place")]
    Order {
        /// Its path.
        path: String,
    },
    /// The archive has more entries than [`Limits::max_files`].
    #[error("the bundle has more than {limit} files and directories")]
    TooManyFiles {
        /// The limit.
        limit: usize,
    },
    /// The archive has more content than [`Limits::max_bytes`].
    #[error("the bundle has more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The disk refuses the write.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

impl UnpackError {
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Write { path, source }
    }
}

/// Creates one directory, without its parents.
pub(crate) fn create_directory(path: &Path) -> Result<(), UnpackError> {
    DirBuilder::new()
        .mode(DIRECTORY_MODE)
        .create(path)
        .map_err(UnpackError::write(path))
}

pub(crate) fn unpack_into(
    bytes: &[u8],
    target: &Path,
    limits: &Limits,
) -> Result<Digest, UnpackError> {
    let exceeded = Rc::new(Cell::new(false));
    // If a limit ends the input, the archive looks damaged to its readers.
    let cannot_read = |error| {
        if exceeded.get() {
            UnpackError::TooLarge {
                limit: limits.max_bytes,
            }
        } else {
            UnpackError::Damaged(error)
        }
    };
    let mut decoder = Decoder::with_buffer(bytes)
        .map_err(cannot_read)?
        .single_frame();
    decoder
        .window_log_max(MAX_WINDOW_LOG)
        .map_err(cannot_read)?;
    let entries = u64::try_from(limits.max_files).unwrap_or(u64::MAX);
    let overhead = entries.saturating_add(2).saturating_mul(BYTES_PER_ENTRY);
    let mut archive = tar::Archive::new(Bounded {
        inner: decoder,
        left: limits.max_bytes.saturating_add(overhead),
        exceeded: Rc::clone(&exceeded),
    });

    let mut unpacking = Unpacking {
        target,
        limits,
        hasher: ContentHasher::new(),
        bytes_left: limits.max_bytes,
        count: 0,
        last: Vec::new(),
        directories: BTreeSet::new(),
    };
    for entry in archive.entries().map_err(cannot_read)? {
        let mut entry = entry.map_err(cannot_read)?;
        let Some(content) = unpacking.admit(&entry)? else {
            continue;
        };
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(cannot_read)?;
        unpacking.write_file(&content, &bytes)?;
    }
    // The rest holds no entries, but shows whether the archive is whole.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(cannot_read)?;
    Ok(unpacking.hasher.finish())
}

/// A file that may be written.
struct Admitted {
    path: Vec<u8>,
    executable: bool,
}

struct Unpacking<'a> {
    target: &'a Path,
    limits: &'a Limits,
    hasher: ContentHasher,
    bytes_left: u64,
    count: usize,
    /// Path of the entry before.
    last: Vec<u8>,
    directories: BTreeSet<Vec<u8>>,
}

impl Unpacking<'_> {
    /// Checks an entry before anything of its content is read. A directory is created at once.
    fn admit(&mut self, entry: &Entry<'_, impl Read>) -> Result<Option<Admitted>, UnpackError> {
        self.count += 1;
        if self.count > self.limits.max_files {
            return Err(UnpackError::TooManyFiles {
                limit: self.limits.max_files,
            });
        }
        let path = entry.path_bytes();
        let shown = || String::from_utf8_lossy(&path).into_owned();
        let kind = entry.header().entry_type();
        if !matches!(kind, EntryType::Regular | EntryType::Directory) {
            return Err(UnpackError::Kind { path: shown() });
        }
        let is_directory = kind == EntryType::Directory;
        let plain = if is_directory {
            path.strip_suffix(b"/").unwrap_or(&path)
        } else {
            &path
        };
        if !is_plain(plain) {
            return Err(UnpackError::Path { path: shown() });
        }
        // The order guarantees that no entry comes twice, and that the hash is that of the sorted content.
        let in_order = plain > self.last.as_slice() && self.has_parent(plain);
        if !in_order {
            return Err(UnpackError::Order { path: shown() });
        }
        let size = entry.size();
        self.bytes_left = match self.bytes_left.checked_sub(size) {
            Some(left) if !is_directory || size == 0 => left,
            _ => {
                return Err(UnpackError::TooLarge {
                    limit: self.limits.max_bytes,
                });
            }
        };
        plain.clone_into(&mut self.last);
        if is_directory {
            create_directory(&self.on_disk(plain))?;
            self.hasher.directory(plain);
            self.directories.insert(plain.to_vec());
            return Ok(None);
        }
        let mode = entry.header().mode().map_err(UnpackError::Damaged)?;
        Ok(Some(Admitted {
            path: plain.to_vec(),
            executable: mode & 0o100 != 0,
        }))
    }

    /// Whether the directory that `path` is in was unpacked.
    fn has_parent(&self, path: &[u8]) -> bool {
        match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => self.directories.contains(&path[..slash]),
            None => true,
        }
    }

    fn write_file(&mut self, file: &Admitted, content: &[u8]) -> Result<(), UnpackError> {
        let mode = if file.executable {
            EXECUTABLE_MODE
        } else {
            FILE_MODE
        };
        let path = self.on_disk(&file.path);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path)
            .and_then(|mut opened| opened.write_all(content))
            .map_err(UnpackError::write(&path))?;
        let content = Digest::of(content);
        self.hasher.file(&file.path, file.executable, content);
        Ok(())
    }

    /// No link is ever unpacked, so a path below the target is really below the target.
    fn on_disk(&self, path: &[u8]) -> PathBuf {
        self.target.join(OsStr::from_bytes(path))
    }
}

fn is_plain(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/')
        .all(|name| !name.is_empty() && name != b"." && name != b".." && !name.contains(&0))
}

/// Fails when more is read than allowed.
struct Bounded<R> {
    inner: R,
    left: u64,
    exceeded: Rc<Cell<bool>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if let Some(left) = self.left.checked_sub(count as u64) {
            self.left = left;
            Ok(count)
        } else {
            self.exceeded.set(true);
            Err(io::Error::other("more than the limit"))
        }
    }
}
