//! From a module directory to a bundle.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cts_core::Digest;
use tar::{EntryType, Header};
use zstd::stream::write::Encoder;

use crate::content::ContentHasher;
use crate::layout::Layout;
use crate::limits::Limits;
use crate::walk::{Found, walk};

/// Compression level: the point where more time hardly makes text smaller.
const LEVEL: i32 = 9;

/// What GNU tar calls an entry whose content is the name of the next one.
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

/// What names a module's content; see [`identify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleIdentity {
    /// As [`Bundle::hash`].
    pub hash: Digest,
    /// The directory on this host that stands for the bundle's root. Where modules are used in place,
    /// [`crate::module_source()`] of it and `module` lets them call what is beside them.
    pub root: PathBuf,
    /// As [`Bundle::module`].
    pub module: PathBuf,
}

/// A module cannot be packed.
#[derive(Debug, thiserror::Error)]
#[error("cannot pack module {}", module.display())]
pub struct PackError {
    /// The module's directory.
    pub module: PathBuf,
    /// Why not.
    #[source]
    pub failure: PackFailure,
}

/// Why a module cannot be packed.
#[derive(Debug, thiserror::Error)]
pub enum PackFailure {
    /// The caller has not made the path absolute.
    #[error("its path is not absolute")]
    NotAbsolute,
    /// There is something else of this name.
    #[error("it is no directory")]
    NotADirectory,
    /// A file or a directory cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// A symbolic link leads to a directory that is not packed.
    #[error(
        "the symbolic link {} leads out of the module, to {}: put the directory in its place, or call it \
         as a module",
        path.display(),
        target.display()
    )]
    LinkLeaves {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// A symbolic link leads to a directory around it.
    #[error(
        "the symbolic link {} leads to {}, which it is in: remove the link",
        path.display(),
        target.display()
    )]
    LinkLoop {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// A device, a pipe or a socket.
    #[error("{} is neither file nor directory: remove it", path.display())]
    SpecialFile {
        /// Its path.
        path: PathBuf,
    },
    /// There are more files than [`Limits::max_files`].
    #[error(
        "it has more than {limit} files and directories, with the modules that it calls: keep only what \
         Terraform needs in its directory, or publish it in a registry or a repository"
    )]
    TooManyFiles {
        /// The limit.
        limit: usize,
    },
    /// The files have more content than [`Limits::max_bytes`].
    #[error(
        "its files have more than {limit} bytes, with the modules that it calls: keep only what Terraform \
         needs in its directory, or publish it in a registry or a repository"
    )]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The archive cannot be written; it is in memory, so this is not expected.
    #[error("cannot write the archive")]
    Archive(#[source] io::Error),
}

impl PackFailure {
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Read { path, source }
    }

    pub(crate) fn too_many_files(limits: &Limits) -> Self {
        Self::TooManyFiles {
            limit: limits.max_files,
        }
    }

    pub(crate) fn too_large(limits: &Limits) -> Self {
        Self::TooLarge {
            limit: limits.max_bytes,
        }
    }
}

/// Packs the module in `module_directory`, an absolute path, with the directories that its module
/// calls lead to.
///
/// Left out are `.terraform`, `.git`, `*.tfstate*`, `crash.log`, `crash.*.log` and names that start
/// with two dots. Symbolic links are followed; one that leads to a directory outside of what is packed
/// is refused. Blocks while it reads the files.
pub fn pack(module_directory: &Path, limits: &Limits) -> Result<Bundle, PackError> {
    pack_except(module_directory, &[], limits)
}

/// Packs like [`pack`], without the directories `excluded`, which are absolute paths. What lies below
/// the working directory of tasks must be excluded, or a module beside it would change with every run.
pub fn pack_except(
    module_directory: &Path,
    excluded: &[PathBuf],
    limits: &Limits,
) -> Result<Bundle, PackError> {
    let write = || {
        let mut archive = Archive::new().map_err(PackFailure::Archive)?;
        let add = |path: &[u8], content: Content<'_>| archive.add(path, content);
        let identity = read(module_directory, excluded, limits, add)?;
        let bytes = archive.finish().map_err(PackFailure::Archive)?;
        Ok(Bundle {
            hash: identity.hash,
            bytes,
            module: identity.module,
        })
    };
    write().map_err(failed(module_directory))
}

/// The hash that [`pack_except`] would give the module at this moment, without an archive.
pub fn identify(
    module_directory: &Path,
    excluded: &[PathBuf],
    limits: &Limits,
) -> Result<BundleIdentity, PackError> {
    read(module_directory, excluded, limits, |_path, _content| Ok(()))
        .map_err(failed(module_directory))
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

/// Reads every file once, so that hash and archive agree even if they change meanwhile.
fn read(
    module_directory: &Path,
    excluded: &[PathBuf],
    limits: &Limits,
    mut add: impl FnMut(&[u8], Content<'_>) -> io::Result<()>,
) -> Result<BundleIdentity, PackFailure> {
    let layout = Layout::of(module_directory, limits)?;
    let mut hasher = ContentHasher::new();
    let mut bytes_left = limits.max_bytes;
    for (path, found) in walk(&layout, excluded, limits)? {
        let content = match found {
            Found::Directory => {
                hasher.directory(&path);
                add(&path, Content::Directory)
            }
            Found::File { source, executable } => {
                let bytes =
                    read_at_most(&source, bytes_left).map_err(PackFailure::read(&source))?;
                bytes_left = bytes_left
                    .checked_sub(bytes.len() as u64)
                    .ok_or_else(|| PackFailure::too_large(limits))?;
                hasher.file(&path, executable, &bytes);
                let bytes = bytes.as_slice();
                add(&path, Content::File { bytes, executable })
            }
        };
        content.map_err(PackFailure::Archive)?;
    }
    Ok(BundleIdentity {
        hash: hasher.finish(),
        root: layout.root,
        module: layout.module,
    })
}

/// A longer file gives one byte more than `limit`.
fn read_at_most(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
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
