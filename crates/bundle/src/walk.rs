//! Which files a bundle has.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::failure::PackFailure;
use crate::layout::Layout;
use crate::packing::Packing;

/// One entry to pack.
#[derive(Debug)]
pub(crate) enum Found {
    Directory,
    File { source: PathBuf, executable: bool },
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
pub(crate) fn walk(layout: &Layout, packing: &Packing) -> Result<Entries, PackFailure> {
    let mut real_directories = BTreeSet::new();
    for directory in &layout.directories {
        real_directories.insert(real_path(directory)?);
    }
    let mut walk = Walk {
        root: &layout.root,
        real_directories,
        packing,
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
    entries: Entries,
    bytes: u64,
}

impl Walk<'_> {
    /// Adds the content of a directory. `real` has the real paths of this directory and the ones around it: a
    /// link to one of them would never end.
    fn directory(&mut self, path: &Path, real: &mut Vec<PathBuf>) -> Result<(), PackFailure> {
        for entry in fs::read_dir(path).map_err(PackFailure::read(path))? {
            let entry = entry.map_err(PackFailure::read(path))?;
            let name = entry.file_name();
            let path = entry.path();
            if is_left_out(&name) {
                continue;
            }
            let kind = entry.file_type().map_err(PackFailure::read(&path))?;
            let metadata = match fs::metadata(&path) {
                Ok(metadata) => metadata,
                Err(error) if kind.is_symlink() && error.kind() == std::io::ErrorKind::NotFound => {
                    continue;
                }
                Err(error) => return Err(PackFailure::read(&path)(error)),
            };
            if metadata.is_file() {
                // Read at its real path, so that nothing depends on a link that changes during the packing.
                let source = if kind.is_symlink() {
                    self.real_file(&path)?
                } else {
                    path.clone()
                };
                self.file(&path, source, &metadata)?;
            } else if !metadata.is_dir() {
                return Err(PackFailure::SpecialFile { path });
            } else if !self.packing.excluded.contains(&path) {
                let target = if kind.is_symlink() {
                    self.link_target(&path, real)?
                } else {
                    let around = real.last().map_or(path.as_path(), PathBuf::as_path);
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
        self.add(path, Found::File { source, executable })
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
