//! The reference implementation, a Go program in `reference/`, as a process of its own.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// The reference's answer to a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// Its parser refuses it.
    Refused(String),
    /// The tree, and the reason if it cannot be decoded.
    Tree {
        items: Value,
        undecodable: Option<String>,
    },
    /// The reference panics, hangs or uses up its memory or stack.
    Panic(String),
}

impl Answer {
    /// Reads an answer as the reference writes it.
    pub(crate) fn from_json(mut answer: Value) -> Result<Self> {
        let text = |name| answer[name].as_str().map(str::to_owned);
        if let Some(reason) = text("refused") {
            return Ok(Self::Refused(reason));
        }
        if let Some(cause) = text("panic") {
            return Ok(Self::Panic(cause));
        }
        let undecodable = text("undecodable");
        let items = answer["items"].take();
        if !items.is_array() {
            bail!("an answer without items: {answer}");
        }
        Ok(Self::Tree { items, undecodable })
    }

    /// The form that [`Answer::from_json`] reads.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Refused(reason) => json!({"refused": reason}),
            Self::Panic(cause) => json!({"panic": cause}),
            Self::Tree {
                items,
                undecodable: None,
            } => json!({"items": items}),
            Self::Tree {
                items,
                undecodable: Some(reason),
            } => json!({"items": items, "undecodable": reason}),
        }
    }
}

/// The running process.
#[derive(Debug)]
pub(crate) struct Reference {
    executable: PathBuf,
    process: Process,
}

#[derive(Debug)]
struct Process {
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
}

impl Reference {
    /// Builds the program into `directory` and starts it.
    pub(crate) fn build_and_start(directory: &Path) -> Result<Self> {
        let executable = directory.join("cts-oracle-reference");
        let status = command("go")
            .args(["build", "-trimpath", "-o"])
            .arg(&executable)
            .arg(".")
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/reference"))
            .status()
            .context("`go` cannot be started: the reference implementation needs Go 1.21 or newer on the PATH")?;
        if !status.success() {
            bail!("`go build` of tests/oracle/reference failed: {status}");
        }
        let process = Process::start(&executable)?;
        Ok(Self {
            executable,
            process,
        })
    }

    /// The reference's answer to `document`.
    pub(crate) fn examine(&mut self, document: &[u8]) -> Result<Answer> {
        match self.process.exchange(document) {
            Ok(content) => Answer::from_json(serde_json::from_slice(&content)?),
            Err(_broken_pipe) => {
                let status = self.process.child.wait()?;
                self.process = Process::start(&self.executable)?;
                Ok(Answer::Panic(status.to_string()))
            }
        }
    }
}

impl Process {
    fn start(executable: &Path) -> Result<Self> {
        let mut child = command(executable)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("the reference implementation cannot be started")?;
        let to = child.stdin.take().context("no standard input")?;
        let from = child.stdout.take().context("no standard output")?;
        Ok(Self { child, to, from })
    }

    fn exchange(&mut self, document: &[u8]) -> std::io::Result<Vec<u8>> {
        let length = u32::try_from(document.len()).map_err(std::io::Error::other)?;
        let mut frame = length.to_be_bytes().to_vec();
        frame.extend_from_slice(document);
        self.to.write_all(&frame)?;
        let mut length = [0; 4];
        self.from.read_exact(&mut length)?;
        let mut content =
            vec![0; usize::try_from(u32::from_be_bytes(length)).map_err(std::io::Error::other)?];
        self.from.read_exact(&mut content)?;
        Ok(content)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Already ended if it died.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a tool that runs one thing after another and has no runtime to block"
)]
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}
