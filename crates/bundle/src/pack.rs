//! From a module directory to a bundle.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cts_core::Digest;
use tar::{EntryType, Header};
use zstd::stream::write::Encoder;

use crate::content::ContentHasher;
use crate::failure::{PackError, PackFailure};
use crate::handles::Handles;
use crate::layout::Layout;
use crate::limits::Limits;
use crate::packing::Packing;
use crate::walk::{Found, FoundFile, walk};

/// Compression level: the point where more time hardly makes text smaller.
const LEVEL: i32 = 9;

/// The name that GNU tar gives to an entry whose content is the name of the next entry.
const LONG_NAME: &[u8] = b"././@LongLink";

/// A module as an archive. `Debug` does not show the content.
#[derive(Clone, PartialEq, Eq)]
pub struct Bundle {
    /// SHA-256 of the content: of paths, file contents and whether files can be executed.
    pub hash: Digest,
    /// A tar archive, compressed by zstd.
    pub bytes: Vec<u8>,
    /// The module's directory inside the bundle, empty if it is the bundle's root.
    pub module: PathBuf,
}

impl fmt::Debug for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bundle")
            .field("hash", &self.hash)
            .field("bytes", &self.bytes.len())
            .field("module", &self.module)
            .finish()
    }
}

/// The identity of a module's content; see [`identify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleIdentity {
    /// As [`Bundle::hash`].
    pub hash: Digest,
    /// The directory on this host that stands for the bundle's root. Where modules are used in place,
    /// [`crate::module_source()`] of it and `module` lets them call their neighbours.
    pub root: PathBuf,
    /// As [`Bundle::module`].
    pub module: PathBuf,
    /// The module's directory on this host, and each directory that module calls lead to.
    pub directories: BTreeSet<PathBuf>,
}

/// Packs the module in `module_directory`, an absolute path, with the directories that its module calls lead
/// to.
///
/// Leaves out `.terraform`, `.git`, `*.tfstate*`, `crash.log`, `crash.*.log` and names that start with two
/// dots. Follows symbolic links, but refuses a link to a directory that is not packed, or out of the roots.
/// Blocks while it reads the files.
pub fn pack(module_directory: &Path, packing: &Packing) -> Result<Bundle, PackError> {
    let limits = &packing.limits;
    let write = || {
        let mut archive = Archive::new().map_err(PackFailure::Archive)?;
        let mut bytes_left = limits.max_bytes;
        let layout = Layout::of(module_directory, packing)?;
        let excluded = |path: &&PathBuf| packing.excluded.contains(path);
        if let Some(path) = layout.outermost().find(excluded) {
            return Err(PackFailure::WorkingDirectory { path: path.clone() });
        }
        let identity = read(layout, packing, |path, found| {
            let Some((found, file)) = found else {
                let added = archive.add(path, Content::Directory);
                return added.map(|()| None).map_err(PackFailure::Archive);
            };
            let bytes = read_at_most(file, bytes_left).map_err(found.unreadable())?;
            bytes_left = bytes_left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| PackFailure::too_large(limits))?;
            let content = Content::File {
                bytes: &bytes,
                executable: found.executable,
            };
            archive.add(path, content).map_err(PackFailure::Archive)?;
            Ok(Some(Digest::of(&bytes)))
        })?;
        let bytes = archive.finish().map_err(PackFailure::Archive)?;
        Ok(Bundle {
            hash: identity.hash,
            bytes,
            module: identity.module,
        })
    };
    unchanged(write).map_err(failed(module_directory))
}

/// The hash that [`pack`] would give the module at this moment, without an archive.
///
/// A file that is too large for any bundle, but passes the limits of this call, counts by its size and the
/// time of its last change: it may be larger than memory, and take longer to read than a start may.
pub fn identify(module_directory: &Path, packing: &Packing) -> Result<BundleIdentity, PackError> {
    let name = || {
        let layout = Layout::of(module_directory, packing)?;
        read(layout, packing, |_path, found| {
            let Some((found, file)) = found else {
                return Ok(None);
            };
            let named = identify_file(file).map(Some);
            named.map_err(found.unreadable())
        })
    };
    unchanged(name).map_err(failed(module_directory))
}

/// Tries of a module that changes while it is read, as by an editor that replaces a file.
const TRIES: usize = 3;

fn unchanged<T>(read: impl Fn() -> Result<T, PackFailure>) -> Result<T, PackFailure> {
    for _ in 1..TRIES {
        match read() {
            Err(PackFailure::Changes { .. }) => {}
            read => return read,
        }
    }
    read()
}

fn failed(module: &Path) -> impl FnOnce(PackFailure) -> PackError {
    let module = module.to_owned();
    move |failure| PackError { module, failure }
}

#[derive(Clone, Copy)]
enum Content<'a> {
    Directory,
    File { bytes: &'a [u8], executable: bool },
}

/// Goes through everything that is packed; `visit` gets each file open and returns its digest. Every file is read once, so
/// that hash and archive agree even if the file changes during the packing.
fn read(
    layout: Layout,
    packing: &Packing,
    mut visit: impl FnMut(&[u8], Option<(&FoundFile, File)>) -> Result<Option<Digest>, PackFailure>,
) -> Result<BundleIdentity, PackFailure> {
    let handles = Handles::new(&packing.roots);
    let mut hasher = ContentHasher::new();
    for (path, found) in walk(&layout, packing, &handles)? {
        let file = match &found {
            Found::Directory => None,
            Found::File(found) => Some((found, found.open(&handles)?)),
        };
        match (visit(&path, file)?, found) {
            (Some(content), Found::File(found)) => {
                hasher.file(&path, found.executable, content);
            }
            _ => hasher.directory(&path),
        }
    }
    Ok(BundleIdentity {
        hash: hasher.finish(),
        root: layout.root,
        module: layout.module,
        directories: layout.directories,
    })
}

/// Smallest size of a file that is too large for any bundle, in bytes.
const FITS_NOWHERE: u64 = Limits::DEFAULT.max_bytes + 1;

fn identify_file(file: File) -> io::Result<Digest> {
    let metadata = file.metadata()?;
    if metadata.len() < FITS_NOWHERE {
        return Digest::of_reader(file);
    }
    let changed = metadata.modified()?;
    let since_epoch = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
    let size = metadata.len().to_be_bytes();
    let time = since_epoch.as_nanos().to_be_bytes();
    Ok(Digest::of_parts([b"large".as_slice(), &size, &time]))
}

/// Reads a file; a file longer than `limit` gives one byte more than `limit`.
fn read_at_most(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

struct Archive {
    builder: tar::Builder<Encoder<'static, Vec<u8>>>,
}

impl Archive {
    fn new() -> io::Result<Self> {
        let encoder = Encoder::new(Vec::new(), LEVEL)?;
        Ok(Self {
            builder: tar::Builder::new(encoder),
        })
    }

    /// Owner and time stay zero.
    fn add(&mut self, path: &[u8], content: Content<'_>) -> io::Result<()> {
        let mut header = Header::new_gnu();
        let (kind, mode, bytes) = match content {
            Content::Directory => (EntryType::Directory, 0o755, [].as_slice()),
            Content::File { bytes, executable } => {
                let mode = if executable { 0o755 } else { 0o644 };
                (EntryType::Regular, mode, bytes)
            }
        };
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        self.append(header, path, bytes)
    }

    /// Writes names byte by byte: the builder's own way with long names fails where they are not
    /// UTF-8.
    fn append(&mut self, mut header: Header, path: &[u8], content: &[u8]) -> io::Result<()> {
        let name = &mut header.as_old_mut().name;
        let length = path.len().min(name.len());
        name[..length].copy_from_slice(&path[..length]);
        if length < path.len() {
            let mut long = Header::new_gnu();
            long.set_entry_type(EntryType::GNULongName);
            let terminated = [path, &[0]].concat();
            self.append(long, LONG_NAME, &terminated)?;
        }
        header.set_size(content.len() as u64);
        header.set_cksum();
        self.builder.append(&header, content)
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        self.builder.into_inner()?.finish()
    }
}
