//! The manual pages, which the build makes of the same definitions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Name and roff of each page; made by the build script.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The roff of a page: `cts-task-create`, or `task-create`, or `task create`. No name means `cts`.
pub(crate) fn page(name: &str) -> Option<&'static str> {
    let name = name.replace(' ', "-");
    let named = |page: &str| {
        let short = page.strip_prefix("cts").unwrap_or(page);
        page == name || short.strip_prefix('-').unwrap_or(short) == name
    };
    let mut pages = PAGES.iter();
    pages.find(|(page, _)| named(page)).map(|(_, text)| *text)
}

/// The names of all pages.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(name, _)| *name)
}

/// Writes every page into a directory, as `NAME.1`.
pub(crate) fn write_all(directory: &Path) -> Result<(), (PathBuf, io::Error)> {
    for (name, text) in PAGES {
        let path = directory.join(format!("{name}.1"));
        fs::write(&path, text).map_err(|error| (path, error))?;
    }
    Ok(())
}
