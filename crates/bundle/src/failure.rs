//! Why a module cannot be packed.

use std::io;
use std::path::{Path, PathBuf};

use crate::handles::is_other_path;
use crate::limits::Limits;
use crate::roots::is_made_up;

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
    /// The path is not a directory.
    #[error("it is no directory")]
    NotADirectory,
    /// A file or a directory cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// The error of the operating system.
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
    /// A file or a call leads out of the [`Roots`](crate::Roots).
    #[error(
        "{} leads to {}, which is in no module root: add module_roots = [\"{}\"] to the configuration",
        path.display(),
        target.display(),
        root.display()
    )]
    LeavesRoots {
        /// The link, or the directory with the call.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
        /// The directory that would have to be a root.
        root: PathBuf,
    },
    /// A file or a call leads to where no module root can be.
    #[error(
        "{} leads to {}, which the kernel makes up and no module root holds: remove it",
        path.display(),
        target.display()
    )]
    MadeUp {
        /// The link, or the directory with the call.
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
    /// A file or a directory became something else while the module was read.
    #[error("{} changes while the module is read", path.display())]
    Changes {
        /// Its path.
        path: PathBuf,
    },
    /// The module has more files than [`Limits::max_files`].
    #[error(
        "it has more than {limit} files and directories, with the modules that it calls: keep only what \
         Terraform needs in its directory, or publish it in a registry or a repository"
    )]
    TooManyFiles {
        /// The limit.
        limit: usize,
    },
    /// Tasks work in this directory, so the module would change with every run.
    #[error(
        "{} is the working directory of cts, which changes with every run: put the module into a directory \
         of its own",
        path.display()
    )]
    WorkingDirectory {
        /// The directory.
        path: PathBuf,
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

    /// The failure of opening a real path that the walk has found.
    pub(crate) fn open(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| {
            if is_other_path(&source) {
                Self::Changes { path }
            } else {
                Self::Read { path, source }
            }
        }
    }

    pub(crate) fn leaves_roots(path: &Path, target: &Path) -> Self {
        if is_made_up(target) {
            return Self::MadeUp {
                path: path.to_owned(),
                target: target.to_owned(),
            };
        }
        let root = if target.is_dir() {
            Some(target)
        } else {
            target.parent()
        };
        Self::LeavesRoots {
            path: path.to_owned(),
            target: target.to_owned(),
            root: root.unwrap_or(target).to_owned(),
        }
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
