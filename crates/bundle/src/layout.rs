//! Which directories make up a bundle, and where its root is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::clean_path::clean_path;
use crate::failure::PackFailure;
use crate::packing::Packing;
use crate::references::local_sources;

/// The directories of a bundle. All paths are absolute and free of `.` and `..`, which are resolved by
/// the text alone, as Terraform does it inside a package.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Their common ancestor.
    pub(crate) root: PathBuf,
    /// The module's directory and every directory that module calls lead to.
    pub(crate) directories: BTreeSet<PathBuf>,
    /// The module's directory, relative to the root.
    pub(crate) module: PathBuf,
}

impl Layout {
    pub(crate) fn of(module_directory: &Path, packing: &Packing) -> Result<Self, PackFailure> {
        let limits = &packing.limits;
        if !module_directory.is_absolute() {
            return Err(PackFailure::NotAbsolute);
        }
        let module = clean_path(module_directory);
        if !packing.roots.hold(&module) {
            return Err(PackFailure::leaves_roots(&module, &module));
        }
        let metadata = fs::metadata(&module).map_err(PackFailure::read(&module))?;
        if !metadata.is_dir() {
            return Err(PackFailure::NotADirectory);
        }
        let mut directories = BTreeSet::from([module.clone()]);
        let mut unsearched = vec![module.clone()];
        while let Some(directory) = unsearched.pop() {
            let sources = local_sources(&directory, limits.max_bytes)
                .map_err(PackFailure::read(&directory))?;
            for source in sources {
                let target = clean_path(&directory.join(source));
                // Terraform complains about a directory that does not exist.
                if target.is_dir() && directories.insert(target.clone()) {
                    if !packing.roots.hold(&target) {
                        return Err(PackFailure::leaves_roots(&directory, &target));
                    }
                    unsearched.push(target);
                }
            }
            if directories.len() > limits.max_files {
                return Err(PackFailure::too_many_files(limits));
            }
        }
        let root = directories
            .iter()
            .fold(module.clone(), |root, directory| common(&root, directory));
        let module = module.strip_prefix(&root).unwrap_or(&module).to_owned();
        Ok(Self {
            root,
            directories,
            module,
        })
    }

    /// The directories that are below none of the others.
    pub(crate) fn outermost(&self) -> impl Iterator<Item = &PathBuf> {
        let inside = |path: &Path| {
            let mut above = path.ancestors().skip(1);
            above.any(|ancestor| self.directories.contains(ancestor))
        };
        self.directories.iter().filter(move |path| !inside(path))
    }
}

fn common(one: &Path, other: &Path) -> PathBuf {
    let pairs = one.components().zip(other.components());
    pairs
        .take_while(|(left, right)| left == right)
        .map(|(component, _same)| component)
        .collect()
}
