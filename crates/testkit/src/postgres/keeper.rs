//! Ends a server whose owner is gone.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// Reads process ids, one per line, an empty line for none; at the end of the input, the owner is gone: the
/// process of the last line is ended with all that it has started, and the directory removed, after a disk of
/// its own for the data, if there is one; the data goes, so that there is no need to write it out (`QUIT`). A
/// process with the same id but not this directory is a different one.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
pid=
while read -r line; do pid=$line; done
is_ours() { [ "$(readlink "/proc/$pid/cwd" 2>/dev/null)" = "$1/data" ]; }
if [ -n "$pid" ]; then
  tries=0
  kill -CONT "$pid" 2>/dev/null
  if is_ours "$1"; then kill -QUIT "$pid"; fi
  while is_ours "$1"; do
    tries=$((tries + 1))
    if [ "$tries" -eq 200 ]; then kill -KILL "$pid"; fi
    sleep 0.05
  done
fi
umount -l "$1/data" 2>/dev/null
rm -rf "$1"
"#;

/// The process that reads the script.
#[derive(Debug)]
pub(super) struct Keeper {
    child: Child,
    /// No other process has it: its end is the owner's end.
    lines: Option<ChildStdin>,
}

impl Keeper {
    #[expect(
        clippy::disallowed_methods,
        reason = "it must not depend on a runtime: it works when that is gone"
    )]
    pub(super) fn start(directory: &Path) -> Self {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "keeper"])
            .arg(directory)
            .current_dir("/")
            // A signal that ends the tests as a group must not end it.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => panic!("cannot start a shell: {error}"),
        };
        let lines = child.stdin.take();
        Self { child, lines }
    }

    /// From now on this process is to be ended.
    pub(super) fn watch(&mut self, pid: u32) {
        self.tell(&pid.to_string());
    }

    /// The process has ended.
    pub(super) fn forget(&mut self) {
        self.tell("");
    }

    fn tell(&mut self, line: &str) {
        let written = self.lines.as_mut().map(|lines| writeln!(lines, "{line}"));
        if let Some(Err(error)) = written {
            panic!("the keeper of Postgres is gone: {error}");
        }
    }

    /// Lets it do its work; does not wait.
    pub(super) fn end(&mut self) {
        self.lines = None;
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
        // The keeper ends by itself; only collected here, so that no zombie stays.
        _ = self.child.wait();
    }
}
