//! Files and directories, opened without following a link.
//!
//! Between the walk and the opening a file may become a link, or a directory on the way to it. So both are opened by the
//! real path that the walk has found, relative to a handle of the root that holds it. The kernel refuses links and
//! ways out of the root (`openat2`). Where it knows no such call, or a filter of system calls refuses it, each
//! component is opened for itself.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Dir, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use crate::roots::Roots;

/// A pipe without a writer does not block, and no terminal becomes that of the process.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// A directory that is only passed through.
const PASS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// No links, and no way out of the directory of the handle.
const INSIDE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS);

/// Opens what lies in roots.
pub(crate) struct Handles<'a> {
    roots: &'a Roots,
    /// Open roots, by their paths.
    open: RefCell<HashMap<PathBuf, OwnedFd>>,
    has_openat2: bool,
}

impl<'a> Handles<'a> {
    pub(crate) fn new(roots: &'a Roots) -> Self {
        Self {
            roots,
            open: RefCell::default(),
            has_openat2: true,
        }
    }

    /// Opens a file by its real path. The caller checks its kind: a pipe or a device does not block.
    pub(crate) fn file(&self, real: &Path) -> io::Result<File> {
        Ok(self.opened(real, READ)?.into())
    }

    /// Names in the directory with this real path.
    pub(crate) fn names(&self, real: &Path) -> io::Result<Vec<OsString>> {
        let directory = Dir::new(self.opened(real, READ | OFlags::DIRECTORY)?)?;
        let names = directory.map(|entry| {
            let entry = entry?;
            Ok(OsStr::from_bytes(entry.file_name().to_bytes()).to_owned())
        });
        let names: io::Result<Vec<OsString>> = names.collect();
        let mut names = names?;
        names.retain(|name| name != "." && name != "..");
        Ok(names)
    }

    fn opened(&self, real: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let outside = || io::Error::from(io::ErrorKind::PermissionDenied);
        let root = self.roots.holder_of(real).ok_or_else(outside)?;
        let inside = real.strip_prefix(root).map_err(|_outside| outside())?;
        let mut open = self.open.borrow_mut();
        if !open.contains_key(root) {
            let handle = openat(CWD, root, PASS | OFlags::NOFOLLOW, Mode::empty())?;
            open.insert(root.to_owned(), handle);
        }
        let handle = open.get(root).ok_or_else(outside)?.as_fd();
        if inside.as_os_str().is_empty() {
            return Ok(openat(handle, ".", flags, Mode::empty())?);
        }
        if self.has_openat2 {
            match openat2(handle, inside, flags, Mode::empty(), INSIDE) {
                // Older kernels, and filters of system calls.
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::TOOBIG) => {}
                opened => return Ok(opened?),
            }
        }
        by_component(handle, inside, flags)
    }
}

fn by_component(root: BorrowedFd<'_>, inside: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut directory: Option<OwnedFd> = None;
    let mut components = inside.components().peekable();
    while let Some(component) = components.next() {
        let Component::Normal(name) = component else {
            break;
        };
        let at = directory.as_ref().map_or(root, OwnedFd::as_fd);
        if components.peek().is_none() {
            return Ok(openat(at, name, flags | OFlags::NOFOLLOW, Mode::empty())?);
        }
        directory = Some(openat(at, name, PASS | OFlags::NOFOLLOW, Mode::empty())?);
    }
    // A real path has no other components.
    Err(io::ErrorKind::InvalidInput.into())
}

/// Whether a link has taken the place of a part of a real path.
pub(crate) fn is_other_path(error: &io::Error) -> bool {
    let errors = [Errno::LOOP, Errno::NOTDIR, Errno::XDEV];
    error
        .raw_os_error()
        .is_some_and(|code| errors.iter().any(|known| known.raw_os_error() == code))
}

/// Opens a file wherever links lead. Returns `None` if it is not a regular file; a pipe does not block.
pub(crate) fn regular_file(path: &Path) -> io::Result<Option<File>> {
    let flags = READ.difference(OFlags::CLOEXEC);
    let mut options = File::options();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    Ok(file.metadata()?.is_file().then_some(file))
}

#[cfg(test)]
mod tests;
