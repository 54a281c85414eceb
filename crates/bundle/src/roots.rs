//! Where modules may be (docs/configuration.md#module-roots).

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Directories whose content the kernel makes up: no file of a module is below them, whatever the roots say.
const NEVER: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Directories in which everything that is packed has to lie once links are resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots(Vec<PathBuf>);

impl Roots {
    /// Takes these directories, absolute paths, with links resolved now. A missing directory holds no path
    /// yet.
    pub fn new(directories: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let directories = directories.into_iter();
        Self(directories.map(|path| real(path.as_ref())).collect())
    }

    /// Whether a path lies in one of them, wherever links lead; the path need not exist.
    pub fn hold(&self, path: &Path) -> bool {
        self.hold_real(&real(path))
    }

    /// Whether a path without links lies in one of them.
    pub(crate) fn hold_real(&self, path: &Path) -> bool {
        self.holder_of(path).is_some()
    }

    /// The directory among them that holds a path without links.
    pub(crate) fn holder_of(&self, path: &Path) -> Option<&Path> {
        let holder = self.0.iter().find(|root| path.starts_with(root));
        holder
            .filter(|_root| !is_made_up(path))
            .map(PathBuf::as_path)
    }
}

/// The roots of modules, by their source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModuleRoots {
    /// The directories in `module_roots`.
    pub named: Vec<PathBuf>,
    /// The current directory, and those of the configuration files.
    pub usual: Vec<PathBuf>,
}

impl ModuleRoots {
    /// The roots for modules that callers of the API name: the configured ones, else the usual ones.
    pub fn of_api(&self) -> Roots {
        if self.named.is_empty() {
            Roots::new(usual_ones(&self.usual))
        } else {
            Roots::new(&self.named)
        }
    }

    /// The roots for the module of a task in a file: all of them, and the directory that holds the module. If
    /// the module is a link, the directories that hold the link and its target.
    pub fn of_file(&self, module: &Path) -> Roots {
        let target = real(module);
        let holders = [holder(module), holder(&target)];
        let others = self.named.iter().chain(usual_ones(&self.usual));
        Roots::new(others.map(PathBuf::as_path).chain(holders))
    }
}

/// Whether a path without links is of the kernel's making.
pub(crate) fn is_made_up(path: &Path) -> bool {
    NEVER.iter().any(|never| path.starts_with(never))
}

/// The directories except `/`, in which services start by default: with it, everything would be in a root.
fn usual_ones(directories: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    directories.iter().filter(|path| path.parent().is_some())
}

/// The directory around a module, or the module's own directory if the one around it is the root of the file
/// system.
fn holder(module: &Path) -> &Path {
    match module.parent() {
        Some(parent) if parent.parent().is_some() => parent,
        _ => module,
    }
}

/// The real path, as far as it exists: a check against the roots must not reveal which paths exist outside of
/// them.
fn real(path: &Path) -> PathBuf {
    let mut missing: Vec<OsString> = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(real) = fs::canonicalize(existing) {
            let rest: PathBuf = missing.iter().rev().collect();
            return if missing.is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
        let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
            return path.to_owned();
        };
        missing.push(name.to_owned());
        existing = parent;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn directory() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(directory.path()).unwrap();
        for inside in ["root/web", "else/where"] {
            fs::create_dir_all(path.join(inside)).unwrap();
        }
        (directory, path)
    }

    #[test]
    fn a_path_is_where_its_links_lead() {
        let (_kept, path) = directory();
        symlink(path.join("else"), path.join("root/link")).unwrap();
        symlink(path.join("root"), path.join("other")).unwrap();
        let roots = Roots::new([path.join("other")]);
        for (inside, held) in [
            ("root/web", true),
            ("root/none/at/all", true),
            ("other/web", true),
            ("root/link", false),
            ("root/link/where", false),
            ("root/link/none", false),
            ("else", false),
            ("rooted", false),
        ] {
            assert_eq!(roots.hold(&path.join(inside)), held, "{inside}");
        }
    }

    #[test]
    fn kernel_file_systems_are_in_no_root() {
        let roots = Roots::new(["/"]);
        assert!(roots.hold(Path::new("/etc")));
        for never in ["/proc/self/environ", "/sys", "/dev/null", "/dev/../proc/1"] {
            assert!(!roots.hold(Path::new(never)), "{never}");
        }
    }

    #[test]
    fn roots_depend_on_whether_a_file_or_the_api_names_the_module() {
        let (_kept, path) = directory();
        symlink(path.join("else/where"), path.join("root/link")).unwrap();
        let usual = vec![path.join("root"), PathBuf::from("/")];
        let mut roots = ModuleRoots {
            named: Vec::new(),
            usual,
        };
        let of_api = |roots: &ModuleRoots| {
            ["root/web", "else/where"].map(|at| roots.of_api().hold(&path.join(at)))
        };
        assert_eq!(of_api(&roots), [true, false]);
        let of_file = roots.of_file(&path.join("root/link"));
        assert!(of_file.hold(&path.join("else/beside")));
        assert!(
            !roots
                .of_file(&path.join("root/web"))
                .hold(&path.join("else"))
        );
        let alone = roots.of_file(Path::new("/single"));
        assert!(alone.hold(Path::new("/single/x")) && !alone.hold(Path::new("/other")));
        roots.named.push(path.join("else"));
        assert_eq!(of_api(&roots), [false, true]);
        assert!(
            roots
                .of_file(&path.join("root/web"))
                .hold(&path.join("else"))
        );
    }
}
