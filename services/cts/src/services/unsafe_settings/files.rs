//! Files with secrets that every user of the machine can read.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cts_config::Config;

/// May be read by everybody on the machine.
const READABLE_BY_OTHERS: u32 = 0o004;

/// Files that hold keys and tokens of cts, and secrets of modules.
fn secret_files(config: &Config) -> Vec<PathBuf> {
    let tls = config.tls.as_ref().map(|tls| tls.key.clone());
    let services = config.services.tls.as_ref().map(|tls| tls.key.clone());
    let vault = config.vault.as_ref();
    let token = vault.and_then(|vault| vault.vault_agent_token_file.clone());
    let clients = [Some(&config.consul.tls), vault.map(|vault| &vault.tls)];
    let keys = clients.into_iter().flatten();
    let keys = keys.filter(|tls| tls.enabled && !tls.key.is_empty());
    let keys = keys.map(|tls| PathBuf::from(&tls.key));
    let login = config.page.login.as_ref();
    let client = login.and_then(|login| login.client_secret_file.clone());
    let key = config.security.key_file.clone();
    let others = [tls, services, token, client, key];
    let variables = config.secret_variable_files.iter().cloned();
    let others = others.into_iter().flatten();
    others.chain(keys).chain(variables).collect()
}

/// The files of the configuration at `paths`, and the files with its secrets, that other users can read.
pub(crate) fn open_secret_files(
    paths: impl IntoIterator<Item = PathBuf>,
    config: &Config,
) -> Vec<PathBuf> {
    open_files(paths.into_iter().chain(secret_files(config)))
}

fn open_files(files: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let others_read = |path: &Path| {
        let metadata = fs::metadata(path);
        metadata.is_ok_and(|metadata| {
            metadata.is_file() && metadata.permissions().mode() & READABLE_BY_OTHERS != 0
        })
    };
    let mut open: Vec<PathBuf> = files
        .into_iter()
        .flat_map(|path| in_directory(&path).unwrap_or_else(|| vec![path]))
        .filter(|path| others_read(path))
        .collect();
    open.sort();
    open.dedup();
    open
}

/// A warning about files of the configuration at `paths`, and files with its secrets, that other users can read.
pub(super) fn of_files(
    paths: impl IntoIterator<Item = PathBuf>,
    config: &Config,
) -> Option<String> {
    let open = open_secret_files(paths, config);
    let shown = open.iter().map(|path| path.display().to_string());
    let shown: Vec<String> = shown.map(|path| format!("{path:?}")).collect();
    (!shown.is_empty()).then(|| {
        format!(
            "everybody on this machine can read files that may hold secrets: {}; take that away with chmod o-r",
            shown.join(", ")
        )
    })
}

/// The configuration files of a directory.
fn in_directory(path: &Path) -> Option<Vec<PathBuf>> {
    let entries = fs::read_dir(path).ok()?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_configuration = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("hcl" | "json"))
    };
    Some(paths.filter(is_configuration).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::unsafe_settings::conditions::tests::config_at;

    #[test]
    fn files_that_others_can_read_are_named_together() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, mode: u32| {
            let path = directory.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let (own, open) = (file("a.hcl", 0o640), file("b.hcl", 0o644));
        file("notes.txt", 0o644);
        let config = config_at(directory.path(), "port = 8558");
        assert_eq!(of_files([own], &config), None);
        let text = of_files([directory.path().to_owned(), open], &config).unwrap();
        assert_eq!(text.matches("b.hcl").count(), 1, "{text}");
        assert!(!text.contains("a.hcl") && !text.contains("notes"), "{text}");
    }
}
