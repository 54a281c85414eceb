//! Locks of a state that an earlier attempt at the same task has left (docs/terraform.md#locks-of-lost-attempts).

use cts_core::LostLease;
use cts_rpc::CallFailure;
use cts_terraform::CommandError;

use crate::attempt::local_run::LocalRun;
use crate::leased_run::LeasedRun;
use crate::outcome::attempt_error::AttemptError;

/// Runs a command, and once more if it failed on a lock that could be released.
pub(crate) async fn retry_after_unlock<T, F>(
    here: LocalRun<'_>,
    command: impl Fn() -> F,
) -> Result<T, AttemptError>
where
    F: Future<Output = Result<T, CommandError>>,
{
    match command().await {
        Ok(done) => Ok(done),
        Err(error) => {
            release_own_lock(here, error).await?;
            Ok(command().await?)
        }
    }
}

/// Handles a command that has failed with `error`. If the error is a lock that a lost attempt left, and the
/// configuration allows it, the lock is released, and the command can run once more. Otherwise returns the error.
async fn release_own_lock(here: LocalRun<'_>, error: CommandError) -> Result<(), AttemptError> {
    let LocalRun {
        run,
        terraform,
        attempt,
        ..
    } = here;
    let Some((id, lease)) = left_by_us(run, &error).await else {
        return Err(error.into());
    };
    let shared = &run.shared;
    let Some(id) = id.filter(|_id| shared.options.release_lost_locks) else {
        return Err(AttemptError::OwnLock { error, lease });
    };
    tracing::warn!(
        task_name = %attempt.task,
        run.id = %run.lease.run,
        worker = %lease.worker,
        lost_at = %lease.lost_at,
        lock = id,
        "releasing the state lock that a lost attempt has left"
    );
    Ok(terraform.force_unlock(attempt, &id).await?)
}

/// The id of the lock, if readable, and the lost lease under which the lock was made.
async fn left_by_us(run: &LeasedRun, error: &CommandError) -> Option<(Option<String>, LostLease)> {
    let lock = error.state_lock()?;
    let created = lock.created()?;
    let lost = match run.shared.scheduler.lost_leases(&run.lease).await {
        Ok(lost) => lost,
        Err(status) => {
            tracing::debug!(run.id = %run.lease.run, error = %CallFailure(&status), "cannot ask who has left a state lock");
            return None;
        }
    };
    let mut lost = lost.into_iter();
    let lease = lost.find(|lease| lease.has_locked(&lock.who, created))?;
    Some((lock.id, lease))
}
