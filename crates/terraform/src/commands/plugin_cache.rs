//! The plugin cache, which several directories share and Terraform does not lock
//! (docs/terraform.md#what-init-makes).

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cts_core::EngineKind;
use cts_hcl1::ValueKind;
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;
use tokio::time::sleep;

use crate::child_environment::ChildEnvironment;

/// The setting, in a CLI configuration.
const SETTING: &str = "plugin_cache_dir";

/// The lock file lies in the cache, where Terraform passes over it. Workers of several users may share a
/// cache, so all may read it.
const LOCK_FILE: &str = "cts-init.lock";

/// Pause between two tries to lock the file.
const RETRY: Duration = Duration::from_millis(100);

/// The right to use the plugin cache, among the processes of this machine. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct CacheLock {
    _guard: OwnedMutexGuard<()>,
    /// `None` if the file system has no locks, or the cache cannot be written.
    _file: Option<File>,
}

impl CacheLock {
    /// Waits without a limit for other processes that use the cache in `directory`. `turn` is the right to use it
    /// within this process.
    pub(crate) async fn acquire(guard: OwnedMutexGuard<()>, directory: &Path) -> Self {
        let file = match open(&directory.join(LOCK_FILE)) {
            Ok(file) => lock(file).await,
            Err(error) => Err(error),
        };
        if let Err(error) = &file {
            let directory = directory.display();
            tracing::debug!(%directory, %error, "the plugin cache cannot be locked against other processes");
        }
        Self {
            _guard: guard,
            _file: file.ok(),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            OpenOptions::new().append(true).create(true).open(path)
        }
        other => other,
    }
}

async fn lock(file: File) -> io::Result<File> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => sleep(RETRY).await,
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// The directory of the cache that the engine would use with this environment: from the variable, else from its CLI
/// configuration. An unreadable file is skipped: Terraform reports its problem.
pub(crate) fn directory(engine: EngineKind, environment: &ChildEnvironment) -> Option<PathBuf> {
    let set = |name| environment.get(name).filter(|value| !value.is_empty());
    if let Some(directory) = set("TF_PLUGIN_CACHE_DIR") {
        return Some(directory.into());
    }
    let named = set("TF_CLI_CONFIG_FILE").or_else(|| set("TERRAFORM_CONFIG"));
    let files = match named {
        Some(file) => vec![file.into()],
        None => files_of_home(engine, Path::new(set("HOME")?)),
    };
    let written = files.iter().find_map(|file| setting(&fs::read(file).ok()?));
    Some(expand(&written?, environment).into())
}

/// The files that an engine reads if no variable names a file; the first file with a setting counts. `OpenTofu` reads
/// the second file only if its own file does not exist.
fn files_of_home(engine: EngineKind, home: &Path) -> Vec<PathBuf> {
    let own = home.join(".tofurc");
    let main = if engine == EngineKind::OpenTofu && own.exists() {
        own
    } else {
        home.join(".terraformrc")
    };
    let mut files = vec![main];
    let entries = fs::read_dir(home.join(".terraform.d"));
    let further = entries.into_iter().flatten().flatten();
    let mut further: Vec<PathBuf> = further.map(|entry| entry.path()).collect();
    further.retain(|file| {
        let name = file.file_name().unwrap_or_default().as_bytes();
        name.ends_with(b".tfrc") || name.ends_with(b".tfrc.json")
    });
    further.sort_unstable();
    files.append(&mut further);
    files
}

/// The setting of the cache in a CLI configuration, in HCL or JSON.
fn setting(text: &[u8]) -> Option<String> {
    let value = if text.trim_ascii_start().starts_with(b"{") {
        let value: Value = serde_json::from_slice(text).ok()?;
        value.get(SETTING)?.as_str()?.to_owned()
    } else {
        let body = cts_hcl1::parse(text).ok()?;
        let mut items = body.items.into_iter().rev();
        let item =
            items.find(|item| matches!(item.keys.as_slice(), [key] if key.text == SETTING))?;
        match item.value.kind {
            ValueKind::String(text) => text,
            _ => return None,
        }
    };
    Some(value).filter(|value| !value.is_empty())
}

/// Replaces variables (`$NAME`, `${NAME}`) as Terraform does, by nothing if they are not set.
fn expand(text: &str, environment: &ChildEnvironment) -> String {
    let value = |name: &str| {
        let value = environment.get(name).map(OsStr::to_string_lossy);
        Some(value.unwrap_or_default())
    };
    shellexpand::env_with_context_no_errors(text, value).into_owned()
}

#[cfg(test)]
mod tests {
    use cts_core::TaskName;
    use tempfile::TempDir;

    use super::*;
    use crate::{EnvironmentSources, InheritedEnvironment, TaskDirectory};

    /// The directory that Terraform finds with these variables and `HOME`, and these files in it.
    fn found(variables: &[(&str, &str)], files: &[(&str, &str)]) -> Option<PathBuf> {
        found_by(EngineKind::Terraform, variables, files)
    }

    fn found_by(
        engine: EngineKind,
        variables: &[(&str, &str)],
        files: &[(&str, &str)],
    ) -> Option<PathBuf> {
        let home = TempDir::new().unwrap();
        let path = home.path().to_str().unwrap();
        fs::create_dir(home.path().join(".terraform.d")).unwrap();
        for (name, text) in files {
            fs::write(home.path().join(name), text).unwrap();
        }
        let backend: Vec<_> = [("HOME", "~")].iter().chain(variables).collect();
        let backend: Vec<_> = backend
            .into_iter()
            .map(|(name, value)| ((*name).to_owned(), value.replace('~', path)))
            .collect();
        let sources = EnvironmentSources {
            inherited: &InheritedEnvironment::default(),
            tracing: &[],
            backend: &backend,
            task_env: &[],
            lock_timeout: None,
            persist_log: false,
            worker: None,
        };
        let task = TaskName::new("edge").unwrap();
        let place = TaskDirectory::new("edge", Path::new("/srv"));
        let environment = ChildEnvironment::new(sources, &task, &place);
        let found = directory(engine, &environment)?;
        let found = found.to_str().unwrap().replace(path, "~");
        Some(found.into())
    }

    #[test]
    fn the_cache_is_that_of_the_variable_else_of_the_cli_configuration() {
        let main = (".terraformrc", "plugin_cache_dir = \"$HOME/main\"\n");
        let further = (".terraform.d/b.tfrc", "plugin_cache_dir = \"/further\"");
        let last = (
            ".terraform.d/c.tfrc.json",
            r#"{"plugin_cache_dir": "/last"}"#,
        );
        let unrelated = (".terraform.d/a.tfrc", "disable_checkpoint = true");
        let broken = (".terraformrc", "plugin_cache_dir = ");
        let named = (".other", "plugin_cache_dir = \"${ROOT}/named${NONE}\"");
        let (variable, file) = (
            ("TF_PLUGIN_CACHE_DIR", "/set"),
            ("TF_CLI_CONFIG_FILE", "~/.other"),
        );
        let root = ("ROOT", "/root");
        let missing = ("TF_CLI_CONFIG_FILE", "~/none");
        for (variables, files, expected) in [
            (vec![], vec![], None),
            (vec![variable], vec![main], Some("/set")),
            (
                vec![("TF_PLUGIN_CACHE_DIR", "")],
                vec![main],
                Some("~/main"),
            ),
            (vec![], vec![main, further], Some("~/main")),
            (
                vec![],
                vec![broken, unrelated, further, last],
                Some("/further"),
            ),
            (vec![], vec![unrelated, last], Some("/last")),
            (vec![file, root], vec![main, named], Some("/root/named")),
            (vec![missing], vec![main], None),
        ] {
            let expected = expected.map(PathBuf::from);
            assert_eq!(
                found(&variables, &files),
                expected,
                "{variables:?} {files:?}"
            );
        }
    }

    #[test]
    fn the_file_of_one_engine_is_none_of_the_other() {
        let own = (".tofurc", "plugin_cache_dir = \"/tofu\"");
        let main = (".terraformrc", "plugin_cache_dir = \"/terraform\"");
        for (engine, files, expected) in [
            (EngineKind::Terraform, vec![own], None),
            (EngineKind::Terraform, vec![own, main], Some("/terraform")),
            (EngineKind::OpenTofu, vec![own, main], Some("/tofu")),
            (EngineKind::OpenTofu, vec![main], Some("/terraform")),
            (EngineKind::OpenTofu, vec![(".tofurc", ""), main], None),
        ] {
            let expected = expected.map(PathBuf::from);
            assert_eq!(
                found_by(engine, &[], &files),
                expected,
                "{engine:?} {files:?}"
            );
        }
    }
}
