//! How a root module names a module inside an unpacked bundle.

use std::path::{Component, Path, PathBuf};

/// The place of a module inside a bundle cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidModulePath {
    /// The place is not a plain relative path.
    #[error("the module's place in its bundle, {}, is no plain relative path", _0.display())]
    NotInside(PathBuf),
    /// Terraform's language is Unicode.
    #[error("the module's path {} is not valid UTF-8, which Terraform needs", _0.display())]
    NotUnicode(PathBuf),
}

/// The `source` of a module call for `module` (as [`crate::Bundle::module`] has it) below `root`,
/// where its bundle is unpacked.
///
/// The double slash means to Terraform that the package is the whole bundle. With the directory's plain
/// absolute path the package would be that directory alone, and Terraform refuses module calls that
/// leave their package ("local module path escapes module package").
pub fn module_source(root: &Path, module: &Path) -> Result<String, InvalidModulePath> {
    let plain = |component| matches!(component, Component::Normal(_));
    if !module.components().all(plain) {
        return Err(InvalidModulePath::NotInside(module.to_owned()));
    }
    let text = |path: &Path| {
        let not_unicode = || InvalidModulePath::NotUnicode(path.to_owned());
        path.to_str().map(str::to_owned).ok_or_else(not_unicode)
    };
    let mut source = text(root)?;
    if !module.as_os_str().is_empty() {
        source.push_str("//");
        source.push_str(&text(module)?);
    }
    Ok(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_below_the_root_is_a_part_of_the_package() {
        let source = |module: &str| module_source(Path::new("/b/1"), Path::new(module));
        assert_eq!(source("").unwrap(), "/b/1");
        assert_eq!(source("modules/web").unwrap(), "/b/1//modules/web");
        assert!(source("../web").is_err());
        assert!(source("/web").is_err());
    }
}
