//! Directories to pack.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cts_bundle::{Bundle, Limits, PackFailure, Packing, Roots, pack, unpack};
use tempfile::TempDir;

/// A directory with the given files; gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Tree {
    root: TempDir,
}

impl Tree {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self {
            root: TempDir::new().unwrap(),
        };
        for (path, content) in files {
            tree.write(path, content);
        }
        tree
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    /// The whole tree is one root.
    pub(crate) fn packing(&self) -> Packing {
        packing(self.root.path())
    }

    pub(crate) fn pack(&self, module: &str) -> Bundle {
        pack(&self.path(module), &self.packing()).unwrap()
    }

    pub(crate) fn failure(&self, module: &str, limits: &Limits) -> PackFailure {
        let packing = Packing {
            limits: *limits,
            ..self.packing()
        };
        let error = pack(&self.path(module), &packing).unwrap_err();
        assert_eq!(error.module, self.path(module));
        error.failure
    }
}

/// Packs everything that is in a directory.
pub(crate) fn packing(root: &Path) -> Packing {
    Packing {
        excluded: Vec::new(),
        roots: Roots::new([root]),
        limits: Limits::default(),
    }
}

/// The text of a module call.
pub(crate) fn call(name: &str, source: &str) -> String {
    format!("module \"{name}\" {{\n  source = \"{source}\"\n}}\n")
}

/// The content of the bundle: file contents by path, directories with a slash at the end.
pub(crate) fn contents(bundle: &Bundle) -> BTreeMap<PathBuf, Vec<u8>> {
    let target = TempDir::new().unwrap();
    let into = target.path().join("unpacked");
    let hash = unpack(&bundle.bytes, &into, &Limits::default()).unwrap();
    assert_eq!(hash, bundle.hash);
    let left: Vec<_> = fs::read_dir(target.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "only the bundle stays: {left:?}");
    let mut found = BTreeMap::new();
    collect(&into, &into, &mut found);
    found
}

fn collect(root: &Path, directory: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let inside = path.strip_prefix(root).unwrap();
        if path.is_dir() {
            found.insert(inside.join(""), Vec::new());
            collect(root, &path, found);
        } else {
            found.insert(inside.to_owned(), fs::read(&path).unwrap());
        }
    }
}

/// The paths in the bundle, as text.
pub(crate) fn names(bundle: &Bundle) -> Vec<String> {
    let name = |path: &PathBuf| {
        let slash = if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            "/"
        } else {
            ""
        };
        let trimmed: PathBuf = path.components().collect();
        format!("{}{slash}", trimmed.display())
    };
    contents(bundle).keys().map(name).collect()
}
