//! The command line of the executables under test, talking to the system under test.

use std::fmt;
use std::path::Path;
use std::process::Stdio;

use cts_tests::DEADLINE;
use tokio::process::Command;
use tokio::time::timeout;

use crate::api::scene::Scene;

/// The end of a call, and its output.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

impl fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.code, self.text)
    }
}

impl CommandOutput {
    /// Panics unless it went well and said all of this.
    #[track_caller]
    pub(crate) fn well(&self, parts: &[&str]) {
        assert_eq!(self.code, Some(0), "{self}");
        for part in parts {
            assert!(self.text.contains(part), "no {part:?} in {self}");
        }
    }

    /// Panics unless it failed with this code and said all of this.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self}");
        for part in parts {
            assert!(self.text.contains(part), "no {part:?} in {self}");
        }
    }
}

/// Calls `program` with these arguments in the site's directory; the environment names the API.
pub(crate) async fn call(scene: &Scene, program: &Path, arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(scene.site.path())
        .env_clear()
        .env("CTS_ADDRESS", scene.instance.api.url(""))
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = timeout(DEADLINE, command.output()).await.unwrap().unwrap();
    let bytes = [output.stdout, output.stderr].concat();
    CommandOutput {
        code: output.status.code(),
        text: String::from_utf8_lossy(&bytes).into_owned(),
    }
}
