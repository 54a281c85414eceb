//! The reference implementation, a Go program in `reference/`, as a process of its own.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// The reference's answer to a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// Its parser refuses it.
    Refused(String),
    /// The tree, and the value that it decodes to, or why it does not.
    Tree {
        items: Value,
        decoded: Result<Value, String>,
    },
    /// The reference panics.
    Panic(String),
    /// Its tree is too deep to be written.
    TooDeep,
    /// Its process ended: it hung, or its memory or stack was used up.
    Died(String),
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
            Ok(content) => match serde_json::from_slice(&content) {
                Ok(answer) => answer_of(answer),
                // The only possible fault of a text that another program has just written as JSON.
                Err(fault) if fault.is_syntax() => Ok(Answer::TooDeep),
                Err(fault) => Err(fault.into()),
            },
            Err(_broken_pipe) => {
                let status = self.process.child.wait()?;
                self.process = Process::start(&self.executable)?;
                Ok(Answer::Died(status.to_string()))
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

fn answer_of(mut answer: Value) -> Result<Answer> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(reason) = answer.get("refused") {
        return Ok(Answer::Refused(text(reason)));
    }
    if let Some(cause) = answer.get("panic") {
        return Ok(Answer::Panic(text(cause)));
    }
    let decoded = if let Some(reason) = answer.get("undecodable") {
        Err(text(reason))
    } else if let Some(decoded) = answer.get_mut("decoded") {
        Ok(decoded.take())
    } else {
        bail!("the reference implementation gave an unknown answer: {answer}");
    };
    let items = answer.get_mut("items").map(Value::take);
    let items = items.context("an answer without items")?;
    Ok(Answer::Tree { items, decoded })
}

#[expect(
    clippy::disallowed_methods,
    reason = "a tool that runs one thing after another and has no runtime to block"
)]
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}
