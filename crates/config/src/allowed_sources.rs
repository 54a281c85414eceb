//! Sources of modules that tasks of the API may use (docs/configuration.md#module-sources).

use std::fs;
use std::path::{Path, PathBuf};

use cts_bundle::clean_path;

use crate::local_module::{is_local, local_path};

/// The entries of `security.module_sources`.
#[derive(Debug, Clone)]
pub(crate) struct AllowedSources {
    current_dir: PathBuf,
    /// The registry of sources without a host.
    registry: &'static str,
    directories: Vec<PathBuf>,
    /// Beginnings of canonical addresses.
    prefixes: Vec<String>,
}

impl AllowedSources {
    /// Takes entries that were checked. Relative directories are below `current_dir`, and addresses without a host on
    /// `registry`.
    pub(crate) fn new(entries: &[String], current_dir: &Path, registry: &'static str) -> Self {
        let remote = entries.iter().filter(|entry| !is_local(entry));
        let local = entries.iter();
        Self {
            current_dir: current_dir.to_owned(),
            registry,
            directories: local
                .filter_map(|entry| local_path(current_dir, entry))
                .collect(),
            prefixes: remote
                .filter_map(|entry| prefix(entry, registry).ok())
                .collect(),
        }
    }

    /// Refuses an entry that no source can begin with; the error is the reason.
    pub(crate) fn check_entry(entry: &str) -> Result<(), String> {
        if is_local(entry) {
            return Ok(());
        }
        prefix(entry, "registry").map(drop)
    }

    /// Whether a task may use the module by its source alone, without a look at files; the error is the reason.
    pub(crate) fn check(&self, written: &str) -> Result<(), String> {
        let is_allowed = if let Some(path) = local_path(&self.current_dir, written) {
            let mut directories = self.directories.iter();
            directories.any(|directory| path.starts_with(directory))
        } else {
            let address = address(written, self.registry)?;
            let mut prefixes = self.prefixes.iter();
            prefixes.any(|prefix| begins(&address, prefix))
        };
        if is_allowed {
            Ok(())
        } else {
            Err("its source is not in that list".to_owned())
        }
    }

    /// Whether a local module is in a directory of the list, wherever links lead.
    pub(crate) fn hold(&self, path: &Path) -> bool {
        let real = real(path);
        let mut directories = self.directories.iter();
        directories
            .any(|directory| path.starts_with(directory) && real.starts_with(self::real(directory)))
    }
}

/// Where links lead.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_missing| clean_path(path))
}

/// Whether the address is the prefix or continues it with a whole segment.
fn begins(address: &str, prefix: &str) -> bool {
    let rest = address.strip_prefix(prefix);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || prefix.ends_with('/'))
}

/// An entry as the beginning of canonical addresses.
fn prefix(entry: &str, registry: &str) -> Result<String, String> {
    require_plain(entry)?;
    if entry.contains('?') {
        return Err("has a query".to_owned());
    }
    if entry.contains("://") {
        return url(entry);
    }
    let segments: Vec<&str> = entry.trim_end_matches('/').split('/').collect();
    match segments.as_slice() {
        ["github.com", rest @ ..] => github(rest),
        [host, names @ ..] if is_host(host) && names.len() <= 3 => registry_address(host, names),
        names if names.len() <= 3 => registry_address(registry, names),
        _ => Err(NO_ADDRESS.to_owned()),
    }
}

/// The canonical address of a package, without version and directory inside of it. All that could mean one place
/// here and a different one for Terraform is refused.
fn address(source: &str, registry: &str) -> Result<String, String> {
    require_plain(source)?;
    let (package, query) = match source.split_once('?') {
        Some((package, query)) => (package, Some(query)),
        None => (source, None),
    };
    if query.is_some_and(has_option) {
        return Err("its query has a value that begins with `-`".to_owned());
    }
    let begin = package.find("://").map_or(0, |scheme| scheme + 3);
    let package = match package[begin..].find("//") {
        Some(end) => {
            let directory = &package[begin + end + 2..];
            require_segments(directory)?;
            &package[..begin + end]
        }
        None => package,
    };
    if package.contains("://") {
        return url(package);
    }
    let segments: Vec<&str> = package.split('/').collect();
    match segments.as_slice() {
        ["github.com", owner, name, directory @ ..] => {
            require_segments(&directory.join("/"))?;
            github(&[owner, name])
        }
        [host, names @ ..] if is_host(host) && names.len() == 3 && query.is_none() => {
            registry_address(host, names)
        }
        names if names.len() == 3 && query.is_none() => registry_address(registry, names),
        _ => Err(NO_ADDRESS.to_owned()),
    }
}

const NO_ADDRESS: &str = "it is neither a directory (./modules/), nor of a registry (namespace/name/provider), \
                          nor a URL with its scheme (git::https://git.example/name.git)";

/// Names of hosts, escapes, directions of text and ends of lines could hide the place.
fn require_plain(text: &str) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"%\\#\"'`<>^{|}".contains(&byte);
    if text.bytes().all(is_plain) {
        return Ok(());
    }
    let problem = "it has characters that could hide its place (blanks, `%`, `#`, `\\`, quotes, or other than ASCII)";
    Err(problem.to_owned())
}

/// `git` could take the value for an option.
fn has_option(query: &str) -> bool {
    let mut values = query.split('&').filter_map(|pair| pair.split_once('='));
    values.any(|(_, value)| value.starts_with('-'))
}

fn require_segments(path: &str) -> Result<(), String> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let is_step = |segment: &str| matches!(segment, "" | "." | "..");
    if !path.is_empty() && path.split('/').any(is_step) {
        return Err("its path has `.`, `..` or nothing between two slashes".to_owned());
    }
    Ok(())
}

/// `getter::scheme://authority/path`, all of it as written.
fn url(text: &str) -> Result<String, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let (getter, scheme) = scheme.split_once("::").unwrap_or(("", scheme));
    let is_name = |name: &str| {
        let bytes = name.bytes();
        bytes
            .clone()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if scheme.is_empty() || !is_name(scheme) || !is_name(getter) {
        return Err("its scheme is not in small letters".to_owned());
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_of_authority =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._:@[]".contains(&byte);
    let is_authority = authority.bytes().all(is_of_authority)
        && authority.matches('@').count() <= 1
        && authority.is_empty() == (scheme == "file");
    if !is_authority {
        return Err("its host is missing, or not in small letters".to_owned());
    }
    require_segments(path)?;
    if getter == "git" && scheme == "https" && authority == "github.com" {
        return github(&path.split('/').collect::<Vec<_>>());
    }
    Ok(format!("{getter}::{scheme}://{authority}/{path}"))
}

/// The short form `github.com/owner/name` stands for a repository whose name may end with `.git`.
fn github(path: &[&str]) -> Result<String, String> {
    let path = path.join("/");
    require_segments(&path)?;
    let path = path.strip_suffix(".git").unwrap_or(&path);
    Ok(format!("git::https://github.com/{path}"))
}

fn is_host(segment: &str) -> bool {
    segment.contains(['.', ':']) || segment == "localhost"
}

fn registry_address(host: &str, names: &[&str]) -> Result<String, String> {
    let is_name = |name: &&str| {
        let bytes = name.bytes();
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        !name.is_empty() && bytes.clone().all(is_of_name)
    };
    let (name, port) = host.split_once(':').unwrap_or((host, "1"));
    let is_of_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    let is_host = name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(is_of_host)
        && port.parse::<u16>().is_ok();
    if !is_host || !names.iter().all(is_name) {
        return Err(NO_ADDRESS.to_owned());
    }
    let mut address = format!("registry::{}", host.to_ascii_lowercase());
    for name in names {
        address.push('/');
        address.push_str(name);
    }
    Ok(address)
}

/// Whether Terraform fetches this module from a registry.
pub(crate) fn is_registry_source(source: &str) -> bool {
    let address = address(source, "registry");
    address.is_ok_and(|address| address.starts_with("registry::"))
}

#[cfg(test)]
mod tests;
