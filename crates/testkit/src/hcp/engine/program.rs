//! Terraform in the directory of a run.

use std::io::PipeWriter;
use std::process::Stdio;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;

use super::super::model::{Cancel, Model, StageName};
use super::directory::{Program, RunDirectory};
use super::stage_result::StageResult;

const PLAN_FILE: &str = "run.tfplan";
/// Exit code of a plan with changes.
const CHANGES: i32 = 2;

struct Ended {
    code: Option<i32>,
    output: Vec<u8>,
}

impl Program {
    pub(super) async fn stage(&self, directory: &RunDirectory, name: StageName) -> StageResult {
        match name {
            StageName::Plan => self.plan(directory).await,
            StageName::Apply => self.apply(directory).await,
        }
    }

    async fn plan(&self, directory: &RunDirectory) -> StageResult {
        let name = StageName::Plan;
        directory.log(name, b"Initializing plugins and modules...\n");
        let init = self
            .run(directory, None, &["init", "-no-color"], None)
            .await;
        if init.code != Some(0) {
            directory.log(name, &init.output);
            return failed();
        }
        let mut arguments = vec!["plan", "-detailed-exitcode", "-out", PLAN_FILE];
        if self.destroys {
            arguments.push("-destroy");
        }
        let ended = self.run(directory, Some(name), &arguments, None).await;
        StageResult {
            succeeded: matches!(ended.code, Some(0 | CHANGES)),
            has_changes: ended.code == Some(CHANGES),
        }
    }

    async fn apply(&self, directory: &RunDirectory) -> StageResult {
        let name = StageName::Apply;
        let ended = self
            .run(directory, Some(name), &["apply"], Some(PLAN_FILE))
            .await;
        StageResult {
            succeeded: ended.code == Some(0),
            has_changes: false,
        }
    }

    /// Runs a command; with a stage its output goes to the log, in the form that the workspace has set.
    async fn run(
        &self,
        directory: &RunDirectory,
        name: Option<StageName>,
        arguments: &[&str],
        last: Option<&str>,
    ) -> Ended {
        let (source, [stdout, stderr]) =
            pipe().unwrap_or_else(|error| panic!("a pipe cannot be made: {error}"));
        let mut command = Command::new(&self.path);
        command.args(arguments);
        if name.is_some() {
            if self.structured {
                command.arg("-json");
            } else {
                command.arg("-no-color");
            }
        }
        command
            .args(last)
            .current_dir(&directory.path)
            .env_clear()
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0)
            .kill_on_drop(true);
        let spawned = command.spawn();
        let mut child =
            spawned.unwrap_or_else(|error| panic!("Terraform cannot be started: {error}"));
        drop(command); // It has the other ends of the pipe.
        let process = directory
            .shared
            .children
            .add(child.id().unwrap_or_default());
        let work = async {
            let output = pump(directory, name, source).await;
            let status = child.wait().await;
            let code = status.ok().and_then(|status| status.code());
            Ended { code, output }
        };
        tokio::pin!(work);
        let mut known = Cancel::Not;
        let ended = loop {
            tokio::select! {
                ended = &mut work => break ended,
                cancel = next_cancel(directory, known) => {
                    match cancel {
                        Cancel::Forced => process.kill(),
                        Cancel::Requested(_) | Cancel::Not => process.interrupt(),
                    }
                    known = cancel;
                }
            }
        };
        process.ended();
        ended
    }
}

/// One pipe for output and errors, so that the log has the order in which Terraform wrote.
fn pipe() -> std::io::Result<(Receiver, [PipeWriter; 2])> {
    let (reader, writer) = std::io::pipe()?;
    let writers = [writer.try_clone()?, writer];
    Ok((Receiver::from_owned_fd(reader.into())?, writers))
}

const fn failed() -> StageResult {
    StageResult {
        succeeded: false,
        has_changes: false,
    }
}

/// Waits until a run is to be stopped in another way than until now. A deleted run is killed.
async fn next_cancel(directory: &RunDirectory, known: Cancel) -> Cancel {
    let probe = |model: &mut Model| {
        let run = model.run(&directory.run);
        let cancel = run.map_or(Cancel::Forced, |run| run.cancel);
        let news = known != Cancel::Forced && cancel != known;
        news.then_some(cancel)
    };
    directory.shared.until(probe).await
}

/// Collects what comes, and adds it to the log of a stage.
async fn pump(directory: &RunDirectory, name: Option<StageName>, mut source: Receiver) -> Vec<u8> {
    let mut collected = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    loop {
        match source.read(&mut buffer).await {
            Ok(0) | Err(_) => return collected,
            Ok(read) => {
                collected.extend_from_slice(&buffer[..read]);
                if let Some(name) = name {
                    directory.log(name, &buffer[..read]);
                }
            }
        }
    }
}
