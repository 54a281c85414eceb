//! Which files a bundle has.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::failure::PackFailure;
use crate::handles::Handles;
use crate::layout::Layout;
use crate::packing::Packing;

/// One entry to pack.
#[derive(Debug)]
pub(crate) enum Found {
    Directory,
    File(FoundFile),
}

/// A file to pack.
#[derive(Debug)]
pub(crate) struct FoundFile {
    /// Its real path.
    source: PathBuf,
    /// Its device and inode.
    identity: (u64, u64),
    pub(crate) executable: bool,
}

impl FoundFile {
    /// Opens the file that was found. Fails if another file or a link has taken its place.
    pub(crate) fn open(&self, handles: &Handles<'_>) -> Result<File, PackFailure> {
        let file = handles.file(&self.source);
        let file = file.map_err(PackFailure::open(&self.source))?;
        let metadata = file.metadata().map_err(self.unreadable())?;
        if !metadata.is_file() || identity(&metadata) != self.identity {
            return Err(PackFailure::Changes {
                path: self.source.clone(),
            });
        }
        Ok(file)
    }

    /// The failure of reading it.
    pub(crate) fn unreadable(&self) -> impl FnOnce(io::Error) -> PackFailure {
        PackFailure::read(&self.source)
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// The entries to pack, by the bytes of their paths inside the bundle: a directory comes before its content.
pub(crate) type Entries = BTreeMap<Vec<u8>, Found>;

/// Whether Terraform, version control or the mount of a volume put this entry into the module directory.
fn is_left_out(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name == b".terraform"
        || name == b".git"
        || name.windows(8).any(|part| part == b".tfstate")
        || name == b"crash.log"
        || (name.starts_with(b"crash.") && name.ends_with(b".log"))
        // Kubernetes keeps the files of a mounted ConfigMap in `..<time of mounting>`, and links to them. If
        // that directory were packed as well, every mount would change the content.
        || name.starts_with(b"..")
}

/// Finds everything below the directories of `layout` except the `excluded` directories. Symbolic links are
/// followed; links to nothing are left out, because they have nothing to read.
pub(crate) fn walk(
    layout: &Layout,
    packing: &Packing,
    handles: &Handles<'_>,
) -> Result<Entries, PackFailure> {
    let mut real_directories = BTreeSet::new();
    for directory in &layout.directories {
        real_directories.insert(real_path(directory)?);
    }
    let mut walk = Walk {
        root: &layout.root,
        real_directories,
        packing,
        handles,
        entries: Entries::new(),
        bytes: 0,
    };
    for directory in layout.outermost() {
        let inside = directory.strip_prefix(&layout.root).unwrap_or(directory);
        for parent in inside.ancestors() {
            walk.add(&layout.root.join(parent), Found::Directory)?;
        }
        walk.directory(directory, &mut vec![real_path(directory)?])?;
    }
    Ok(walk.entries)
}

fn real_path(path: &Path) -> Result<PathBuf, PackFailure> {
    fs::canonicalize(path).map_err(PackFailure::read(path))
}

struct Walk<'a> {
    root: &'a Path,
    /// Real paths of the packed directories.
    real_directories: BTreeSet<PathBuf>,
    packing: &'a Packing,
    handles: &'a Handles<'a>,
    entries: Entries,
    bytes: u64,
}

impl Walk<'_> {
    /// Adds the content of a directory. `real` has the real paths of this directory and the ones around it: a
    /// link to one of them would never end.
    fn directory(&mut self, path: &Path, real: &mut Vec<PathBuf>) -> Result<(), PackFailure> {
        let around = real.last().map_or(path, PathBuf::as_path).to_owned();
        let names = self.handles.names(&around);
        for name in names.map_err(PackFailure::open(path))? {
            let path = path.join(&name);
            if is_left_out(&name) {
                continue;
            }
            let kind = fs::symlink_metadata(&path).map_err(PackFailure::read(&path))?;
            let metadata = match fs::metadata(&path) {
                Ok(metadata) => metadata,
                Err(error) if kind.is_symlink() && error.kind() == std::io::ErrorKind::NotFound => {
                    continue;
                }
                Err(error) => return Err(PackFailure::read(&path)(error)),
            };
            if metadata.is_file() {
                let source = if kind.is_symlink() {
                    self.real_file(&path)?
                } else {
                    around.join(&name)
                };
                self.file(&path, source, &metadata)?;
            } else if !metadata.is_dir() {
                return Err(PackFailure::SpecialFile { path });
            } else if !self.packing.excluded.contains(&path) {
                let target = if kind.is_symlink() {
                    self.link_target(&path, real)?
                } else {
                    around.join(&name)
                };
                self.add(&path, Found::Directory)?;
                real.push(target);
                self.directory(&path, real)?;
                real.pop();
            }
        }
        Ok(())
    }

    fn link_target(&self, path: &Path, real: &[PathBuf]) -> Result<PathBuf, PackFailure> {
        let target = real_path(path)?;
        if real.contains(&target) {
            return Err(PackFailure::LinkLoop {
                path: path.to_owned(),
                target,
            });
        }
        let packed = |path: &Path| self.real_directories.contains(path);
        if !target.ancestors().any(packed) {
            return Err(PackFailure::LinkLeaves {
                path: path.to_owned(),
                target,
            });
        }
        Ok(target)
    }

    fn real_file(&self, link: &Path) -> Result<PathBuf, PackFailure> {
        let target = real_path(link)?;
        if self.packing.roots.hold_real(&target) {
            Ok(target)
        } else {
            Err(PackFailure::leaves_roots(link, &target))
        }
    }

    fn file(
        &mut self,
        path: &Path,
        source: PathBuf,
        metadata: &Metadata,
    ) -> Result<(), PackFailure> {
        self.bytes = self.bytes.saturating_add(metadata.len());
        if self.bytes > self.packing.limits.max_bytes {
            return Err(PackFailure::too_large(&self.packing.limits));
        }
        let executable = metadata.permissions().mode() & 0o100 != 0;
        let identity = identity(metadata);
        let found = FoundFile {
            source,
            identity,
            executable,
        };
        self.add(path, Found::File(found))
    }

    fn add(&mut self, path: &Path, found: Found) -> Result<(), PackFailure> {
        let inside = path.strip_prefix(self.root).unwrap_or(path);
        if inside.as_os_str().is_empty() {
            return Ok(());
        }
        let name = inside.as_os_str().as_encoded_bytes().to_vec();
        self.entries.insert(name, found);
        if self.entries.len() > self.packing.limits.max_files {
            return Err(PackFailure::too_many_files(&self.packing.limits));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;
    use crate::limits::Limits;
    use crate::roots::Roots;

    /// The file `sub/a` of a module, found before `change` and opened after it.
    fn opened_after(change: impl FnOnce(&Path)) -> Result<File, PackFailure> {
        let kept = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(kept.path()).unwrap();
        fs::create_dir_all(path.join("root/sub")).unwrap();
        fs::create_dir(path.join("else")).unwrap();
        fs::write(path.join("root/sub/a"), "content").unwrap();
        fs::write(path.join("else/a"), "secret").unwrap();
        let packing = Packing {
            excluded: Vec::new(),
            roots: Roots::new([path.join("root")]),
            limits: Limits::DEFAULT,
        };
        let layout = Layout::of(&path.join("root"), &packing).unwrap();
        let handles = Handles::new(&packing.roots);
        let mut entries = walk(&layout, &packing, &handles).unwrap();
        change(&path);
        match entries.remove(b"sub/a".as_slice()) {
            Some(Found::File(found)) => found.open(&handles),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_that_became_something_else_is_not_opened() {
        assert!(opened_after(|_path| {}).is_ok());
        let changes: [fn(&Path); 5] = [
            |path| {
                fs::remove_file(path.join("root/sub/a")).unwrap();
                symlink("../../else/a", path.join("root/sub/a")).unwrap();
            },
            |path| {
                fs::rename(path.join("root/sub"), path.join("root/before")).unwrap();
                symlink("../else", path.join("root/sub")).unwrap();
            },
            // Another file, inside of the root.
            |path| fs::rename(path.join("else/a"), path.join("root/sub/a")).unwrap(),
            |path| {
                fs::remove_file(path.join("root/sub/a")).unwrap();
                mkfifo(&path.join("root/sub/a"), Mode::S_IRWXU).unwrap();
            },
            |path| {
                fs::remove_file(path.join("root/sub/a")).unwrap();
                fs::create_dir(path.join("root/sub/a")).unwrap();
            },
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let failure = opened_after(change).unwrap_err();
            assert!(
                matches!(failure, PackFailure::Changes { .. }),
                "{number}: {failure:?}"
            );
        }
        let gone = opened_after(|path| fs::remove_file(path.join("root/sub/a")).unwrap());
        assert!(matches!(gone, Err(PackFailure::Read { .. })));
    }
}
