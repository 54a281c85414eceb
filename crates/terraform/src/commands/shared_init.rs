//! Results of `init` for one task, copied for other tasks of the same shape (docs/terraform.md#what-init-makes).
//!
//! Tasks with the same engine, module, providers and backend get the same results from `init` except for
//! their names. The first task of a shape runs it; tasks that come within [`FRESH_FOR`] take copies, without
//! a process. Only a directory in which `init` has never run takes a copy: `init` keeps the versions that a
//! lock file has, and the backend before.
//!
//! A copy is built under a temporary name and renamed, so that a kill leaves a whole copy or none.

mod copy;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cts_core::{Chain, Digest, TaskName};
use tokio::sync::{OwnedMutexGuard, RwLock};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use crate::attempt::Attempt;
use crate::child_environment::TRACE_PARENT;
use crate::data_files::LOCK_FILE;
use crate::markers::TASK_DIRECTORY_MARKER;
use crate::render::RootModule;

/// How old a copy may be: if versions are open, a later task gets the newest versions of its time.
const FRESH_FOR: Duration = Duration::from_mins(10);

/// How long a task waits for the `init` of another task before it runs `init` itself: an `init` that hangs must not
/// block all slots of a worker.
const WAIT: Duration = Duration::from_secs(10);

/// Most shapes whose copies are remembered.
const SHAPES_KEPT: usize = 1_000;

/// Variables that differ between tasks and mean nothing to `init`.
const OF_ONE_TASK: [&str; 3] = [TASK_DIRECTORY_MARKER, "TF_LOG_PATH", TRACE_PARENT];

/// The shapes that this process has initialised.
#[derive(Debug, Default)]
pub(crate) struct SharedInit {
    shapes: Mutex<HashMap<Digest, Arc<tokio::sync::Mutex<()>>>>,
    /// Locked for reading while a copy is made, for writing before `init` changes a directory.
    sources: Arc<RwLock<HashMap<Digest, Source>>>,
}

/// A directory that was initialised and has not changed since.
#[derive(Debug, Clone)]
struct Source {
    directory: PathBuf,
    task: TaskName,
    made: Instant,
}

impl SharedInit {
    /// Identifies everything that `init` depends on for this attempt. Returns `None` if the result cannot be shared:
    /// the content of the module is not known to be the same, the data directory is outside of the task directory, or
    /// `init` has run in this directory before.
    pub(crate) fn shape(attempt: &Attempt, root: &RootModule) -> Option<Digest> {
        let shape = root.init_shape?.to_string();
        let directory = attempt.directory.path();
        let is_elsewhere = attempt.data_directory() != directory.join(copy::DATA_DIRECTORY);
        let was_here = |name: &str| directory.join(name).symlink_metadata().is_ok();
        if is_elsewhere || was_here(copy::DATA_DIRECTORY) || was_here(LOCK_FILE) {
            return None;
        }
        let variables = attempt.environment.variables();
        let shared = variables.filter(|(name, _value)| OF_ONE_TASK.iter().all(|one| name != one));
        let parts = shared.flat_map(|(name, value)| [name, value].map(OsStr::as_encoded_bytes));
        Some(Digest::of_parts(
            std::iter::once(shape.as_bytes()).chain(parts),
        ))
    }

    /// Waits, for a while, until no other task of the shape is being initialised.
    pub(crate) async fn lock(
        &self,
        shape: Digest,
        attempt: &Attempt,
    ) -> Option<OwnedMutexGuard<()>> {
        let lock = {
            let mut shapes = self.shapes.lock();
            // Removes the locks that no task holds or waits for.
            shapes.retain(|_shape, lock| Arc::strong_count(lock) > 1);
            Arc::clone(shapes.entry(shape).or_default())
        };
        tokio::select! {
            () = attempt.stop.cancelled() => None,
            lock = timeout(WAIT, lock.lock_owned()) => lock.ok(),
        }
    }

    /// Copies the results of `init` for another task of the shape to the attempt's directory; returns whether that
    /// succeeded. A failure is logged, and leaves the directory as it was.
    pub(crate) async fn take_over(&self, shape: Digest, attempt: &Attempt) -> bool {
        let sources = Arc::clone(&self.sources).read_owned().await;
        let Some(source) = sources.get(&shape).cloned() else {
            return false;
        };
        if source.made.elapsed() >= FRESH_FOR {
            return false;
        }
        let (target, task) = (attempt.directory.path().to_owned(), attempt.task.clone());
        let copied = spawn_blocking(move || {
            let copied = copy::copy((&source.directory, &source.task), (&target, &task));
            drop(sources);
            copied
        });
        match copied.await {
            Ok(Ok(copied)) => copied,
            Ok(Err(error)) => Self::not_copied(attempt, &error),
            Err(error) => Self::not_copied(attempt, &error),
        }
    }

    fn not_copied(attempt: &Attempt, error: &(dyn std::error::Error + 'static)) -> bool {
        tracing::debug!(task = %attempt.task, error = %Chain(error), "cannot take over what init has made for another task");
        false
    }

    /// `init` is about to change the directory.
    pub(crate) async fn forget(&self, directory: &Path) {
        let mut sources = self.sources.write().await;
        sources.retain(|_shape, source| source.directory != directory);
    }

    /// The attempt's directory has the results of `init` for this shape: attempts at other tasks may copy the results.
    pub(crate) async fn offer(&self, shape: Digest, attempt: &Attempt) {
        let source = Source {
            directory: attempt.directory.path().to_owned(),
            task: attempt.task.clone(),
            made: Instant::now(),
        };
        let mut sources = self.sources.write().await;
        if sources.len() >= SHAPES_KEPT {
            sources.retain(|_shape, source| source.made.elapsed() < FRESH_FOR);
        }
        if sources.len() < SHAPES_KEPT {
            sources.insert(shape, source);
        }
    }
}
