//! The commands of one attempt (docs/terraform.md#commands).

use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cts_core::Digest;
use tokio::process::Command;
use tokio::sync::OwnedMutexGuard;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;

use crate::attempt::Attempt;
use crate::commands::json_events::JsonEvents;
use crate::commands::outcome::{exit_error, failed, must_succeed};
use crate::commands::plugin_cache::CacheLock;
use crate::commands::shared_init::SharedInit;
use crate::data_files::workspace_file;
use crate::directory::write_if_different;
use crate::error::{CommandError, CommandFailure};
use crate::executable::Executable;
use crate::process::{self, Ended, Job, StdoutUse};
use crate::provider_schema::ProviderForms;
use crate::step::{PLAN_READ, Step, Tuning};

/// Terraform's exit code after a failure that it reports; a crash has a greater code.
const FAILED: i32 = 1;

/// `plan -detailed-exitcode` ends with this code when the plan has changes.
const CHANGES_PRESENT: i32 = 2;

/// Runs Terraform commands in task directories. One value serves all tasks of a process; share it in an `Arc`.
///
/// Each process is supervised by a task of its own in the tracker that [`Terraform::new`] takes. Dropping the future of
/// a command therefore never abandons a process: it counts as a cancellation, and the gentle stop goes on in the
/// tracker, for which the owner waits before the process ends. Commands of one directory never overlap: the next
/// command waits for the end of the process before it, even if nothing else waits.
#[derive(Debug)]
pub struct Terraform {
    pub(crate) executable: Executable,
    supervisors: TaskTracker,
    tuning: Tuning,
    /// How long a plan may be read.
    pub(crate) plan_read: Duration,
    /// Shapes of root modules that were found valid in this process.
    pub(crate) validated: Mutex<HashSet<Digest>>,
    /// Forms of providers' arguments, by lock file.
    pub(crate) forms: Mutex<HashMap<String, Arc<ProviderForms>>>,
    /// Results of `init`, for tasks of the same shape.
    pub(crate) shared_init: SharedInit,
    /// Held during `init` with a shared plugin cache, which Terraform does not lock itself.
    pub(crate) plugin_cache: CommandLock,
    /// Held while a process runs in a directory.
    directories: Mutex<HashMap<PathBuf, CommandLock>>,
}

/// A plan of Terraform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanOutput {
    /// Whether an apply would change anything.
    pub changes_present: bool,
    /// Standard output of the command; only the last 16 MiB are kept.
    pub text: String,
}

/// A lock that passes from command to command.
pub(crate) type CommandLock = Arc<tokio::sync::Mutex<()>>;

impl Terraform {
    /// Uses `executable`; `supervisors` holds the tasks that watch its processes.
    pub fn new(executable: Executable, supervisors: TaskTracker) -> Self {
        Self {
            executable,
            supervisors,
            tuning: Tuning::default(),
            plan_read: PLAN_READ,
            validated: Mutex::new(HashSet::new()),
            forms: Mutex::default(),
            shared_init: SharedInit::default(),
            plugin_cache: CommandLock::default(),
            directories: Mutex::default(),
        }
    }

    /// This value with the settings of a configuration for `plan` and `apply`.
    #[must_use]
    pub fn tuned(self, tuning: Tuning) -> Self {
        Self { tuning, ..self }
    }

    /// This value with a limit for [`Terraform::read_plan`] other than a minute.
    #[must_use]
    pub fn reading_plans_for(self, plan_read: Duration) -> Self {
        Self { plan_read, ..self }
    }

    /// The executable in use.
    pub const fn executable(&self) -> &Executable {
        &self.executable
    }

    /// All arguments of a command except those that differ between runs.
    pub(crate) fn arguments(&self, step: Step) -> Vec<String> {
        let always = step.arguments(self.executable.version());
        let always = always.into_iter().map(str::to_owned);
        always.chain(self.tuning.arguments(step)).collect()
    }

    /// Chooses the workspace of the task, by writing the file of `terraform workspace select`. Its state need
    /// not exist: the backend creates it with the first apply.
    pub fn select_workspace(attempt: &Attempt) -> Result<(), CommandError> {
        write_if_different(&workspace_file(attempt), attempt.task.as_str())
            .map(drop)
            .map_err(|error| failed(attempt, Step::Init, error))
    }

    /// Runs `terraform plan` with a lock on the state, in the workspace of the task
    /// (docs/terraform.md#output-and-errors). Standard output is shown live, and it is the plan's text.
    ///
    /// A request for an initialisation is handled as by [`Terraform::apply`].
    ///
    /// # Cancellation
    /// Like [`Terraform::apply`]. The command changes nothing, even if it is interrupted.
    pub async fn plan(&self, attempt: &Attempt) -> Result<PlanOutput, CommandError> {
        self.plan_with(attempt, self.arguments(Step::Plan)).await
    }

    pub(crate) async fn plan_with(
        &self,
        attempt: &Attempt,
        arguments: Vec<String>,
    ) -> Result<PlanOutput, CommandError> {
        Self::select_workspace(attempt)?;
        let stdout = StdoutUse::LiveAndCaptured;
        let ended = self
            .run_holding(attempt, Step::Plan, arguments, stdout, None)
            .await?;
        let changes_present = match ended.status.code() {
            Some(0) => false,
            Some(CHANGES_PRESENT) => true,
            _ => {
                let error = exit_error(attempt, Step::Plan, ended);
                if error.needs_initialisation() {
                    Self::forget_initialisation(attempt)?;
                }
                return Err(error);
            }
        };
        Ok(PlanOutput {
            changes_present,
            text: ended.stdout,
        })
    }

    /// Runs `terraform apply` in the workspace of the task.
    ///
    /// If Terraform reports that the directory is not initialised for the command, the initialisation is
    /// forgotten, so that the next [`Terraform::prepare`] does it again.
    ///
    /// # Cancellation
    /// The attempt's [`StopSignal`](crate::StopSignal) interrupts Terraform, and this call waits for the end of
    /// the process, which is killed if need be. A command that still succeeds after the order is a success.
    pub async fn apply(&self, attempt: &Attempt) -> Result<(), CommandError> {
        self.apply_with(attempt, self.arguments(Step::Apply)).await
    }

    pub(crate) async fn apply_with(
        &self,
        attempt: &Attempt,
        arguments: Vec<String>,
    ) -> Result<(), CommandError> {
        // A different workspace would be a different state: never rely on the content of the file.
        Self::select_workspace(attempt)?;
        let ended = self.run_holding(attempt, Step::Apply, arguments, StdoutUse::Live, None);
        let result = must_succeed(attempt, Step::Apply, ended.await?);
        if let Err(error) = &result
            && error.needs_initialisation()
        {
            Self::forget_initialisation(attempt)?;
        }
        result.map(drop)
    }

    /// Releases the lock `id` of the task's state, held or not: to be called for a lock that is known to be
    /// left over.
    ///
    /// # Cancellation
    /// Like [`Terraform::apply`].
    pub async fn force_unlock(&self, attempt: &Attempt, id: &str) -> Result<(), CommandError> {
        Self::select_workspace(attempt)?;
        let mut arguments = self.arguments(Step::Unlock);
        arguments.push(id.to_owned());
        let ended = self.run_holding(attempt, Step::Unlock, arguments, StdoutUse::Live, None);
        must_succeed(attempt, Step::Unlock, ended.await?).map(drop)
    }

    /// The lock of the attempt's directory.
    fn directory_lock(&self, attempt: &Attempt) -> CommandLock {
        let mut directories = self.directories.lock();
        let path = attempt.directory.path().to_owned();
        Arc::clone(directories.entry(path).or_default())
    }

    /// Runs a command to its end, with success or failure. A command that exceeds its time is stopped; if it still
    /// succeeds, the success counts.
    pub(crate) async fn run(
        &self,
        attempt: &Attempt,
        step: Step,
        stdout: StdoutUse,
    ) -> Result<Ended, CommandError> {
        let arguments = self.arguments(step);
        self.run_holding(attempt, step, arguments, stdout, None)
            .await
    }

    /// Runs a command like [`Self::run`], with these arguments and a lock that is released when the process
    /// has ended, also if nothing waits for that.
    pub(crate) async fn run_holding(
        &self,
        attempt: &Attempt,
        step: Step,
        mut arguments: Vec<String>,
        stdout: StdoutUse,
        lock: Option<CacheLock>,
    ) -> Result<Ended, CommandError> {
        let directory = self.directory_lock(attempt);
        let directory_lock = take_lock(&directory, attempt, step).await?;
        let events = JsonEvents::of(&self.executable, step, attempt);
        if events.is_some() {
            // Placed after the name of the command: the last argument may be the name of a file.
            arguments.insert(1, JsonEvents::argument().to_owned());
        }
        let mut command = Command::new(self.executable.path());
        command
            .args(arguments)
            .current_dir(attempt.directory.path())
            .env_clear()
            .envs(attempt.environment.variables());
        // An order of its own, so that dropping this future stops this command and nothing else.
        let (stop, cancel) = attempt.stop.for_one_command();
        let job = Job {
            command,
            directory: attempt.marked_directory(),
            output: Arc::clone(&attempt.output),
            stdout,
            stop,
            last_orderly_code: match step {
                Step::Plan => CHANGES_PRESENT,
                _ => FAILED,
            },
        };
        tracing::debug!(task = %attempt.task, %step, "running terraform");
        let stop_when_dropped = cancel.clone().drop_guard();
        attempt.output.step_began(step);
        let begun = Instant::now();
        let supervise = async move {
            let ended = process::run(job).await;
            drop((directory_lock, lock));
            ended
        };
        let mut supervised = self.supervisors.spawn(supervise);
        let (limit, key) = match step {
            Step::Show => (self.plan_read, "limit for plans as data"),
            _ => step.timeout(&attempt.timeouts),
        };
        let (ended, timed_out) = match timeout(limit, &mut supervised).await {
            Ok(ended) => (ended, false),
            Err(_elapsed) => {
                // A stop before the limit has interrupted the command already, so it is not too slow.
                let timed_out = !attempt.stop.is_cancelled();
                if timed_out {
                    tracing::warn!(task = %attempt.task, %step, ?limit, "terraform takes longer than it may and is stopped");
                }
                cancel.cancel();
                (supervised.await, timed_out)
            }
        };
        stop_when_dropped.disarm();
        let took = begun.elapsed();
        if let Some(events) = events {
            let output = Arc::clone(&attempt.output);
            let reading = spawn_blocking(move || events.read(output.as_ref()));
            reading
                .await
                .map_err(|error| failed(attempt, step, CommandFailure::Supervision(error)))?;
        }
        attempt.output.step_ended(step, took);
        let ended = ended
            .map_err(CommandFailure::Supervision)
            .and_then(|result| {
                result.map_err(|source| CommandFailure::Run {
                    program: self.executable.path().to_owned(),
                    source,
                })
            })
            .map_err(|failure| failed(attempt, step, failure))?;
        if let Some(group) = ended.left_behind {
            return Err(failed(attempt, step, CommandFailure::LeftBehind { group }));
        }
        if timed_out && !ended.status.success() {
            let stderr = ended.stderr;
            let failure = CommandFailure::TimedOut { limit, key, stderr };
            return Err(failed(attempt, step, failure));
        }
        Ok(ended)
    }
}

/// Waits for a lock, unless the attempt is cancelled before it comes.
pub(crate) async fn take_lock(
    lock: &CommandLock,
    attempt: &Attempt,
    step: Step,
) -> Result<OwnedMutexGuard<()>, CommandError> {
    let lock = Arc::clone(lock).lock_owned();
    let taken = tokio::select! {
        biased;
        () = attempt.stop.cancelled() => None,
        taken = lock => Some(taken),
    };
    taken.ok_or_else(|| failed(attempt, step, CommandFailure::Cancelled))
}
