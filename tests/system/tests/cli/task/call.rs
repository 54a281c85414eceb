//! One call of an executable, and its output on each stream.

use std::fmt;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cts_testkit::eventually;
use cts_tests::{DEADLINE, executable, link, met};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandOutput {
    /// Exit code, `None` after a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The form in snapshots.
impl fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        writeln!(f, "exit code: {code}")?;
        writeln!(f, "--- stdout\n{}", self.stdout)?;
        write!(f, "--- stderr\n{}", self.stderr)
    }
}

impl CommandOutput {
    /// Asserts that standard output has each of these parts.
    #[track_caller]
    pub(crate) fn stdout_has<'a>(&self, parts: impl IntoIterator<Item = &'a str>) {
        self.has(&self.stdout, parts);
    }

    /// Asserts that standard error has each of these parts.
    #[track_caller]
    pub(crate) fn stderr_has<'a>(&self, parts: impl IntoIterator<Item = &'a str>) {
        self.has(&self.stderr, parts);
    }

    #[track_caller]
    fn has<'a>(&self, stream: &str, parts: impl IntoIterator<Item = &'a str>) {
        for part in parts {
            assert!(stream.contains(part), "no {part:?} in\n{self}");
        }
    }

    /// Replaces `text` by `replacement` in all output.
    pub(crate) fn replace(self, text: &str, replacement: &str) -> Self {
        Self {
            code: self.code,
            stdout: self.stdout.replace(text, replacement),
            stderr: self.stderr.replace(text, replacement),
        }
    }
}

/// A call in a directory of its own, with an empty environment and no input.
#[derive(Debug)]
pub(crate) struct Call {
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    input: String,
    columns: u16,
    directory: TempDir,
}

impl Call {
    /// `cts` with these arguments.
    pub(crate) fn cts(arguments: &[&str]) -> Self {
        Self {
            program: executable("cts"),
            arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
            environment: vec![("TZ".to_owned(), "UTC".to_owned())],
            input: String::new(),
            columns: 0,
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// A call by the name of the original.
    pub(crate) fn original(arguments: &[&str]) -> Self {
        let mut call = Self::cts(arguments);
        call.program = link(call.directory.path(), "consul-terraform-sync");
        call
    }

    /// Adds an argument at the end.
    pub(crate) fn argument(mut self, text: impl Into<String>) -> Self {
        self.arguments.push(text.into());
        self
    }

    /// Adds an environment variable.
    pub(crate) fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Gives this on standard input, which then ends.
    pub(crate) fn input(mut self, text: &str) -> Self {
        text.clone_into(&mut self.input);
        self
    }

    /// Sets the number of columns of a dialogue's terminal, which has no size otherwise.
    pub(crate) const fn columns(mut self, columns: u16) -> Self {
        self.columns = columns;
        self
    }

    /// Writes a file into its directory.
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.directory.path().join(name), text).unwrap();
        self
    }

    /// Its directory.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Calls and waits for the end.
    pub(crate) async fn run(self) -> CommandOutput {
        let mut child = self.spawn();
        let mut stdin = child.stdin.take().unwrap();
        // The program may end without reading its input.
        drop(stdin.write_all(self.input.as_bytes()).await);
        drop(stdin);
        ended(child).await
    }

    /// Calls, waits until `ready`, sends SIGINT and waits for the end.
    pub(crate) async fn interrupt_once(self, ready: impl Fn() -> bool) -> CommandOutput {
        let child = self.spawn();
        let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
        let waiting = eventually(DEADLINE, async || met(ready(), "not ready"));
        waiting.await;
        kill(pid, Signal::SIGINT).unwrap();
        ended(child).await
    }

    /// Calls on a terminal; waits for each text in its order and then types the answer to it. Keys such as Ctrl-C do
    /// what they do in a shell. All of the terminal is in `stdout`.
    pub(crate) async fn dialogue(self, dialogue: &[(&str, &str)]) -> CommandOutput {
        let size = Winsize {
            ws_row: 24,
            ws_col: self.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let terminal = openpty(Some(&size), None).unwrap();
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]);
        self.describe(command.arg(&self.program));
        command
            .stdin(terminal.slave.try_clone().unwrap())
            .stdout(terminal.slave.try_clone().unwrap())
            .stderr(terminal.slave);
        let mut child = command.spawn().unwrap();
        // The command has copies of the other end.
        drop(command);
        let mut typed = File::from(terminal.master.try_clone().unwrap());
        let mut shown = File::from(terminal.master);
        let (sender, mut parts) = unbounded_channel();
        let reading = tokio::task::spawn_blocking(move || {
            let mut part = [0; 4096];
            // The end of a terminal's last process is an error for its reader.
            while let Ok(read @ 1..) = shown.read(&mut part) {
                drop(sender.send(part[..read].to_vec()));
            }
        });
        let (mut seen, mut after) = (String::new(), 0);
        for (awaited, answer) in dialogue {
            while !seen[after..].contains(awaited) {
                let part = timeout(DEADLINE, parts.recv()).await.unwrap();
                assert!(part.is_some(), "no {awaited:?} in {seen}");
                seen += std::str::from_utf8(&part.unwrap()).unwrap();
            }
            after += seen[after..].find(awaited).unwrap() + awaited.len();
            typed.write_all(answer.as_bytes()).unwrap();
        }
        let status = timeout(DEADLINE, child.wait()).await.unwrap().unwrap();
        reading.await.unwrap();
        while let Some(part) = parts.recv().await {
            seen += std::str::from_utf8(&part).unwrap();
        }
        CommandOutput {
            code: status.code(),
            stdout: seen,
            stderr: String::new(),
        }
    }

    fn spawn(&self) -> Child {
        let mut command = self.command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        self.describe(&mut command);
        command
    }

    fn describe(&self, command: &mut Command) {
        command
            .args(&self.arguments)
            .current_dir(self.directory.path())
            .env_clear()
            .envs(self.environment.iter().cloned())
            .kill_on_drop(true);
    }
}

async fn ended(child: Child) -> CommandOutput {
    let end = timeout(DEADLINE, child.wait_with_output()).await;
    let end = end.unwrap().unwrap();
    CommandOutput {
        code: end.status.code(),
        stdout: String::from_utf8(end.stdout).unwrap(),
        stderr: String::from_utf8(end.stderr).unwrap(),
    }
}
