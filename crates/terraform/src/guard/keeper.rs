//! The worker's half: a handle that reports deadlines to the guard, and the loop that keeps a guard alive.

use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::directory::TaskDirectory;
use crate::guard::GUARD_MARKER;
use crate::guard::line::Line;
use crate::guard::pipe::{LinePipe, WriteOutcome};
use crate::markers::{TASK_DIRECTORY_MARKER, WORKER_MARKER};

/// Pause between two tries to write into a full pipe.
const FULL_PIPE_PAUSE: Duration = Duration::from_millis(20);

/// A guard that reads nothing for this long does not guard.
const SEND_TIMEOUT: Duration = Duration::from_secs(2);

/// Shortest and longest pause before a guard that died early is replaced. The first replacement starts
/// without a pause.
const RESTART_PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// How long the keeper waits for the end of a guard whose pipe is broken.
const END_OF_BROKEN: Duration = Duration::from_millis(100);

/// A guard that runs for this time does not count as ended early.
const GOOD_LIFE: Duration = Duration::from_secs(10);

/// How long a guard may take to end on request.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// How a guard process is started.
#[derive(Clone)]
pub struct GuardCommand {
    /// The executable; `/proc/self/exe` stays right when the file is replaced.
    pub program: PathBuf,
    /// Arguments with which the program must call [`serve`](crate::guard::serve) for `worker`.
    pub arguments: Vec<OsString>,
    /// Its environment, which every process of this user can read: nothing secret.
    pub environment: BTreeMap<OsString, OsString>,
    /// The worker's id, as in [`EnvironmentSources::worker`](crate::EnvironmentSources::worker).
    pub worker: String,
}

impl fmt::Debug for GuardCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardCommand")
            .field("program", &self.program)
            .field("worker", &self.worker)
            .finish_non_exhaustive()
    }
}

/// Sends the guard until when Terraform may run in each directory. Clones talk to the same guard.
#[derive(Debug, Clone)]
pub struct Guard {
    shared: Arc<Shared>,
}

/// Keeps a guard process alive, see [`GuardKeeper::keep`].
#[derive(Debug)]
pub struct GuardKeeper {
    command: GuardCommand,
    shared: Arc<Shared>,
    process: Child,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Notified if a line could not be written.
    stuck: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Every directory that was ever reported to the guard; `None` for released directories.
    deadlines: BTreeMap<PathBuf, Option<Deadlines>>,
    /// Directories whose newest deadline the guard does not have yet.
    untold: BTreeSet<PathBuf>,
    pipe: Option<LinePipe>,
}

#[derive(Debug, Clone, Copy)]
struct Deadlines {
    act_at: Instant,
    kill_by: Instant,
    interrupted: bool,
}

impl Guard {
    /// Starts a guard process. [`GuardKeeper::keep`] has to run for as long as the worker.
    ///
    /// Must be called inside a runtime.
    pub fn start(command: GuardCommand) -> io::Result<(Self, GuardKeeper)> {
        let (process, pipe) = spawn(&command)?;
        let state = State {
            pipe: Some(pipe),
            ..State::default()
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            stuck: Notify::new(),
        });
        let keeper = GuardKeeper {
            command,
            shared: Arc::clone(&shared),
            process,
        };
        Ok((Self { shared }, keeper))
    }

    /// Terraform may run in `directory` until `stop_at`; then the guard stops it, so that it is gone by
    /// `kill_by`. Replaces the previous deadlines of the directory. Never waits: when this returns, the guard
    /// is going to act whatever happens to this process, if [`Guard::is_standing`].
    ///
    /// Must be called before Terraform is started, and again with each renewal. A healthy worker stops its Terraform
    /// itself, so `stop_at` should be a little later than the worker's own stop: a second interrupt makes Terraform
    /// give up without releasing its lock.
    pub fn allow(&self, directory: &TaskDirectory, stop_at: Instant, kill_by: Instant) {
        let deadlines = Deadlines {
            act_at: stop_at,
            kill_by,
            interrupted: false,
        };
        self.say(directory, Some(deadlines));
    }

    /// The worker has begun to stop Terraform in `directory` itself, and the guard does not interrupt
    /// Terraform again; from `terminate_at` on the guard terminates, and kills in time for `kill_by`. If the
    /// worker dies and more time is left than a gentle stop takes, the guard does this earlier.
    pub fn interrupted(&self, directory: &TaskDirectory, terminate_at: Instant, kill_by: Instant) {
        let deadlines = Deadlines {
            act_at: terminate_at,
            kill_by,
            interrupted: true,
        };
        self.say(directory, Some(deadlines));
    }

    /// Terraform does not run in `directory` any more, and is not going to before the next [`Guard::allow`].
    /// The guard does not touch processes that Terraform's provisioners have left there.
    pub fn release(&self, directory: &TaskDirectory) {
        self.say(directory, None);
    }

    /// Whether a guard runs and has every deadline. If not, a new one is on its way.
    pub fn is_standing(&self) -> bool {
        let state = self.shared.lock();
        state.pipe.is_some() && state.untold.is_empty()
    }

    fn say(&self, directory: &TaskDirectory, deadlines: Option<Deadlines>) {
        let mut state = self.shared.lock();
        state
            .deadlines
            .insert(directory.path().to_owned(), deadlines);
        state.untold.insert(directory.path().to_owned());
        if state.send() != WriteOutcome::Whole {
            self.shared.stuck.notify_one();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Sends the guard the deadlines that it does not have yet, as far as the pipe has room.
    fn send(&mut self) -> WriteOutcome {
        let Some(pipe) = &mut self.pipe else {
            return WriteOutcome::Broken;
        };
        loop {
            let flushed = pipe.flush();
            if flushed != WriteOutcome::Whole {
                return flushed;
            }
            let Some(directory) = self.untold.pop_first() else {
                return WriteOutcome::Whole;
            };
            let deadlines = self.deadlines.get(&directory).copied().flatten();
            if pipe.write(&line(directory, deadlines).to_string()) == WriteOutcome::Broken {
                return WriteOutcome::Broken;
            }
        }
    }

    /// Switches to the pipe of a new guard.
    fn turn_to(&mut self, pipe: LinePipe) {
        self.pipe = Some(pipe);
        self.untold = self.deadlines.keys().cloned().collect();
    }
}

fn line(directory: PathBuf, deadlines: Option<Deadlines>) -> Line {
    let now = Instant::now();
    match deadlines {
        None => Line::Release { directory },
        Some(deadlines) => {
            let act_in = deadlines.act_at.saturating_duration_since(now);
            let gone_in = deadlines.kill_by.saturating_duration_since(now);
            if deadlines.interrupted {
                Line::Interrupted {
                    directory,
                    terminate_in: act_in,
                    gone_in,
                }
            } else {
                Line::Allow {
                    directory,
                    stop_in: act_in,
                    gone_in,
                }
            }
        }
    }
}

/// Starts a guard process with a pipe to it.
fn spawn(command: &GuardCommand) -> io::Result<(Child, LinePipe)> {
    let (pipe, guards_end) = LinePipe::new()?;
    // A process group of its own, so that a signal for the worker's group, as from a terminal, does not reach
    // the guard.
    let process = Command::new(&command.program)
        .args(&command.arguments)
        .env_clear()
        .envs(&command.environment)
        .env_remove(TASK_DIRECTORY_MARKER)
        .env_remove(WORKER_MARKER)
        .env(GUARD_MARKER, &command.worker)
        .process_group(0)
        .stdin(Stdio::from(guards_end))
        .stdout(Stdio::null())
        .spawn()?;
    Ok((process, pipe))
}

impl GuardKeeper {
    /// Until `end` is cancelled, starts a new guard whenever no guard runs or the present guard does not read, and
    /// sends it all deadlines. `end` must outlast the worker's last Terraform. Then requests the end of the guard, and
    /// waits a little for it.
    ///
    /// # Cancellation
    /// Dropping the future leaves the guard with its last deadlines: the guard treats the end of this process as its
    /// death.
    pub async fn keep(mut self, end: CancellationToken) {
        let mut pause = Duration::ZERO;
        loop {
            let begun = Instant::now();
            tokio::select! {
                () = end.cancelled() => break,
                () = self.lose_guard() => {}
            }
            // A guard that lives must not take the end of its pipe for the end of the worker.
            self.kill().await;
            if begun.elapsed() >= GOOD_LIFE {
                pause = Duration::ZERO;
            }
            tokio::select! {
                () = end.cancelled() => return,
                () = self.restart(&mut pause) => {}
            }
        }
        self.dismiss().await;
    }

    /// Returns when the guard has died or does not read.
    async fn lose_guard(&mut self) {
        loop {
            tokio::select! {
                ended = self.process.wait() => return report_end(ended),
                () = self.shared.stuck.notified() => {}
            }
            let written = timeout(SEND_TIMEOUT, send_all(&self.shared)).await;
            if written == Ok(WriteOutcome::Whole) {
                continue;
            }
            match timeout(END_OF_BROKEN, self.process.wait()).await {
                Ok(ended) => report_end(ended),
                Err(_elapsed) => tracing::warn!("the guard of this worker does not listen"),
            }
            return;
        }
    }

    async fn kill(&mut self) {
        if self.process.id().is_some()
            && let Err(error) = self.process.kill().await
        {
            tracing::warn!(%error, "cannot kill the guard of this worker");
        }
        self.shared.lock().pipe = None;
    }

    /// Starts a guard; repeats that until it succeeds.
    async fn restart(&mut self, pause: &mut Duration) {
        loop {
            sleep(*pause).await;
            *pause = (*pause * 2).clamp(RESTART_PAUSES.0, RESTART_PAUSES.1);
            match spawn(&self.command) {
                Ok((process, pipe)) => {
                    tracing::info!(id = process.id(), "this worker has a new guard");
                    self.process = process;
                    self.shared.lock().turn_to(pipe);
                    // Sends the lines that did not fit at once.
                    self.shared.stuck.notify_one();
                    return;
                }
                Err(error) => tracing::error!(%error, "cannot start a guard for this worker"),
            }
        }
    }

    async fn dismiss(&mut self) {
        let written = timeout(SEND_TIMEOUT, send_all(&self.shared)).await;
        let Some(mut pipe) = self.shared.lock().pipe.take() else {
            return;
        };
        if written == Ok(WriteOutcome::Whole) {
            // Closing the pipe also ends the guard, but slower.
            let _whole_or_closed = pipe.write(&Line::End.to_string());
        }
        drop(pipe);
        match timeout(END_TIMEOUT, self.process.wait()).await {
            Ok(Ok(status)) if status.success() => {}
            Ok(ended) => report_end(ended),
            Err(_elapsed) => tracing::warn!("the guard of this worker is still stopping processes"),
        }
    }
}

fn report_end(ended: io::Result<ExitStatus>) {
    match ended {
        Ok(status) => tracing::warn!(%status, "the guard of this worker has ended"),
        Err(error) => tracing::warn!(%error, "cannot wait for the guard of this worker"),
    }
}

/// Sends the guard everything; waits for room in the pipe.
async fn send_all(shared: &Shared) -> WriteOutcome {
    loop {
        let written = shared.lock().send();
        if written != WriteOutcome::Full {
            return written;
        }
        sleep(FULL_PIPE_PAUSE).await;
    }
}
