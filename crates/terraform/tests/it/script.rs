//! Scripts that stand in for Terraform and record the signals that they get.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, timeout};

/// Stands in for a Terraform that ignores signals; its command `version` works. Writes every message into the
/// pipe of [`Life`] as well. Ends after a minute, whatever happens to the test.
const DEAF: &str = r#"#!/bin/sh
if [ "$1" = version ]; then echo '{"terraform_version": "1.11.4"}'; exit; fi
exec 9> life
say() { echo "$1"; echo "$1" >&9; }
trap 'say interrupted' INT
trap 'say terminated' TERM
say started
i=0
while [ $i -lt 600 ]; do i=$((i + 1)); sleep 0.1; done
"#;

/// Stands in for a Terraform that is killed from outside while its provider, which ignores SIGTERM, is at
/// work.
const KILLED: &str = r#"#!/bin/sh
if [ "$1" = version ]; then echo '{"terraform_version": "1.11.4"}'; exit; fi
exec 9> life
echo started >&9
(trap '' TERM; i=0; while [ $i -lt 600 ]; do i=$((i + 1)); sleep 0.1; done) &
kill -9 $$
"#;

/// Stands in for a Terraform whose provisioner leaves a process running on purpose.
const LEAVES_BEHIND: &str = r#"#!/bin/sh
if [ "$1" = version ]; then echo '{"terraform_version": "1.11.4"}'; exit; fi
exec 9> life
echo started >&9
sleep 30 > /dev/null 2>&1 &
"#;

/// Writes the script and gives its path.
pub(crate) fn deaf_terraform(directory: &Path) -> PathBuf {
    write_script(directory, DEAF)
}

/// Writes the script of the Terraform that is killed, and gives its path.
pub(crate) fn killed_terraform(directory: &Path) -> PathBuf {
    write_script(directory, KILLED)
}

/// Writes the script of the Terraform that leaves a process running, and gives its path.
pub(crate) fn terraform_that_leaves_something_behind(directory: &Path) -> PathBuf {
    write_script(directory, LEAVES_BEHIND)
}

fn write_script(directory: &Path, script: &str) -> PathBuf {
    let file = directory.join("terraform");
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

/// How much later than it must a loaded machine may notice an end.
pub(crate) const LATE: Duration = Duration::from_secs(2);

/// The messages of the script in a task directory, up to the end of its last process.
pub(crate) struct Life {
    words: UnboundedReceiver<(String, Instant)>,
}

impl Life {
    /// Makes `directory` ready for the script.
    pub(crate) fn watch(directory: &Path) -> Self {
        fs::create_dir_all(directory.join(".terraform")).unwrap();
        let pipe = directory.join("life");
        mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        let (sender, words) = unbounded_channel();
        std::thread::spawn(move || {
            // Waits for the script.
            let reader = BufReader::new(File::open(pipe).unwrap());
            for line in reader.lines() {
                if sender.send((line.unwrap(), Instant::now())).is_err() {
                    return;
                }
            }
            drop(sender.send(("gone".to_owned(), Instant::now())));
        });
        Self { words }
    }

    /// Waits for the next message, which must be `word`; returns its time.
    pub(crate) async fn hear(&mut self, word: &str) -> Instant {
        let (heard, at) = self.next().await;
        assert_eq!(heard, word);
        at
    }

    async fn next(&mut self) -> (String, Instant) {
        let next = timeout(Duration::from_secs(30), self.words.recv()).await;
        next.expect("in time").expect("after the end")
    }

    /// Waits until the script has been stopped: interrupted, then gone. Between the two it hears `terminated`, unless
    /// the machine stood still for as long as that takes. Returns the time of its end.
    pub(crate) async fn hear_its_stop(&mut self) -> Instant {
        self.hear("interrupted").await;
        self.hear_its_end().await
    }

    /// Like [`hear_its_stop`](Self::hear_its_stop) for a script that has been interrupted.
    pub(crate) async fn hear_its_end(&mut self) -> Instant {
        let (word, at) = self.next().await;
        if word == "gone" {
            return at;
        }
        assert_eq!(word, "terminated");
        self.hear("gone").await
    }

    /// Whether no message has come since, the end included.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.words.try_recv().is_err()
    }
}
