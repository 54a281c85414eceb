//! Calls of the program, and checks of its output.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cts_tests::link;
use tempfile::TempDir;
use tokio::process::Command;

/// Our name.
pub(crate) const OURS: &str = "cts";

/// The name of the link.
pub(crate) const ORIGINAL: &str = "consul-terraform-sync";

/// Both.
pub(crate) const BOTH: [&str; 2] = [OURS, ORIGINAL];

/// A directory in which the program is called, with a link for each name in `bin`.
#[derive(Debug)]
pub(crate) struct Place {
    directory: TempDir,
    environment: Vec<(String, String)>,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Called {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("cts-cli.")
            .tempdir()
            .unwrap();
        let bin = directory.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        for name in BOTH {
            link(&bin, name);
        }
        Self {
            directory,
            environment: Vec::new(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The link of this name.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.path().join("bin").join(name)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Sets an environment variable of all later calls, which have no others.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Calls the program by one of its names. Nothing is on standard input.
    pub(crate) async fn call(&self, name: &str, words: &[&str]) -> Called {
        self.call_program(&self.program(name), words).await
    }

    /// Calls another program.
    pub(crate) async fn call_program(&self, program: &Path, words: &[&str]) -> Called {
        let output = Command::new(program)
            .args(words)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .envs(self.environment.clone())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(self.path().to_str().unwrap(), "[directory]")
        };
        Called {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Called {
    /// Everything, for a snapshot.
    pub(crate) fn transcript(&self) -> String {
        let mut text = format!("exit code {}\n", self.code);
        for (name, stream) in [
            ("standard output", &self.stdout),
            ("standard error", &self.stderr),
        ] {
            if !stream.is_empty() {
                write!(text, "--- {name}\n{stream}").unwrap();
            }
        }
        text
    }

    /// The exit code and how each stream begins, for a row of a table.
    pub(crate) fn brief(&self) -> String {
        let first = |stream: &str| {
            let mut lines = stream.lines().filter(|line| !line.trim().is_empty());
            lines.next().unwrap_or("").trim().to_owned()
        };
        format!(
            "{:3} | {} | {}",
            self.code,
            first(&self.stdout),
            first(&self.stderr)
        )
    }
}

/// Compares with the stored text, whatever the version of the program and the times of log lines.
macro_rules! assert_said {
    ($name:expr, $text:expr) => {
        insta::with_settings!({
            filters => vec![
                (r"v\d+\.\d+\.\d+( \([^)]*\))?", "v[version]"),
                (r"\d{4}-\d\d-\d\dT\S+ \[", "TIME ["),
            ],
            omit_expression => true,
            prepend_module_to_snapshot => false,
        }, {
            insta::assert_snapshot!($name, $text);
        });
    };
}
pub(crate) use assert_said;
