//! Attempts that fail before Terraform has started (docs/runs.md#workers-that-cannot-work).
//!
//! If the machine of the worker is at fault, a different worker can do the run: the run goes back to the queue, and
//! the attempt does not count. An error alone does not show which side is at fault: a full disk affects every run, a
//! bundle that is too large affects only its own run. So right after the error, the worker itself tests what every
//! run needs.
//!
//! The worker reports the side at fault with the failure. Heartbeats contain the problem of a worker
//! (`workers.problem`) for display: the worker itself stops requesting runs.
//!
//! After such an attempt, or a lost lease, `runs.elsewhere_until` keeps the run from the same worker for
//! [`ELSEWHERE_FOR`], if a different suitable worker exists at that time.

use std::io::{Error, ErrorKind};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::attempt_ending::AttemptEnding;
use crate::words::identity::WorkerId;

/// Maximum number of attempts of one run that are given back without counting because machines were at fault.
pub const GIVEN_BACK_AT_MOST: usize = 3;

/// Maximum time for which a run waits for a different worker after its last worker could not work.
pub const ELSEWHERE_FOR: Duration = Duration::from_secs(2);

/// `EIO`, `ENFILE` and `EMFILE`, which have no [`ErrorKind`].
const OF_MACHINE: [i32; 3] = [5, 23, 24];

/// The side at fault if an attempt fails before Terraform has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EarlyFailure {
    /// The machine of the worker: the worker's own check fails too.
    Machine,
    /// The run, or a service that it needs. An unknown side of a later version counts as this side.
    #[serde(other)]
    Run,
}

/// Whether an error of the operating system can be the fault of the machine: a full, read-only or broken disk,
/// missing rights, too many open files, too little memory.
pub fn can_be_of_machine(error: &Error) -> bool {
    let by_number = error
        .raw_os_error()
        .is_some_and(|number| OF_MACHINE.contains(&number));
    by_number
        || matches!(
            error.kind(),
            ErrorKind::StorageFull
                | ErrorKind::QuotaExceeded
                | ErrorKind::ReadOnlyFilesystem
                | ErrorKind::PermissionDenied
                | ErrorKind::OutOfMemory
        )
}

/// An earlier attempt of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlierAttempt<'a> {
    /// The worker.
    pub worker: &'a WorkerId,
    /// How it ended.
    pub ending: AttemptEnding,
    /// The side at fault if it failed before Terraform started.
    pub early_failure: Option<EarlyFailure>,
}

/// Whether an attempt of `worker` that failed early goes back to the queue without counting. `earlier` are the
/// earlier attempts of its run.
///
/// Each worker can give a run back once, and all workers together [`GIVEN_BACK_AT_MOST`] times. If a different worker
/// with a successful check of its own failed early with the run, the run is at fault.
pub fn is_given_back<'a>(
    failure: Option<EarlyFailure>,
    worker: &WorkerId,
    earlier: impl IntoIterator<Item = EarlierAttempt<'a>>,
) -> bool {
    if failure != Some(EarlyFailure::Machine) {
        return false;
    }
    let mut given_back = 0;
    for record in earlier {
        match record.early_failure {
            Some(EarlyFailure::Run) if record.worker != worker => return false,
            Some(EarlyFailure::Machine) if record.ending == AttemptEnding::Released => {
                if record.worker == worker {
                    return false;
                }
                given_back += 1;
            }
            Some(EarlyFailure::Run | EarlyFailure::Machine) | None => {}
        }
    }
    given_back < GIVEN_BACK_AT_MOST
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    type Attempt = (&'static str, AttemptEnding, EarlyFailure);

    const fn given_back(worker: &'static str) -> Attempt {
        (worker, AttemptEnding::Released, EarlyFailure::Machine)
    }

    fn is_given_back_by(worker: &str, earlier: &[Attempt]) -> bool {
        let workers: Vec<_> = earlier.iter().map(|it| WorkerId::new(it.0)).collect();
        let earlier = earlier.iter().zip(&workers);
        let earlier = earlier.map(|((_, ending, failure), worker)| EarlierAttempt {
            worker,
            ending: *ending,
            early_failure: Some(*failure),
        });
        let worker = WorkerId::new(worker);
        is_given_back(Some(EarlyFailure::Machine), &worker, earlier)
    }

    #[test]
    fn errors_of_disks_rights_files_and_memory_can_be_of_the_machine() {
        // ENOSPC, EDQUOT, EROFS, EIO, EACCES, EPERM, EMFILE, ENFILE, ENOMEM.
        for number in [28, 122, 30, 5, 13, 1, 24, 23, 12] {
            let error = Error::from_raw_os_error(number);
            assert!(can_be_of_machine(&error), "{error}");
        }
        // ENOENT, ENOTDIR, ENAMETOOLONG, ECONNREFUSED.
        for number in [2, 20, 36, 111] {
            let error = Error::from_raw_os_error(number);
            assert!(!can_be_of_machine(&error), "{error}");
        }
        let wrapped = Error::new(io::ErrorKind::StorageFull, "while unpacking");
        assert!(can_be_of_machine(&wrapped));
    }

    #[test]
    fn each_worker_gives_a_run_back_once_and_all_together_three_times() {
        assert!(is_given_back_by("a", &[]));
        assert!(!is_given_back_by("a", &[given_back("a")]));
        let mut earlier = vec![given_back("a"), given_back("b")];
        assert!(is_given_back_by("c", &earlier));
        earlier.push(given_back("c"));
        assert!(!is_given_back_by("d", &earlier));
    }

    #[test]
    fn a_run_that_fails_early_on_a_healthy_worker_is_at_fault() {
        let elsewhere = ("b", AttemptEnding::Failed, EarlyFailure::Run);
        assert!(!is_given_back_by("a", &[elsewhere]));
        // The worker was healthy at its first attempt, and its own check fails now.
        let here = ("a", AttemptEnding::Failed, EarlyFailure::Run);
        assert!(is_given_back_by("a", &[here]));
    }

    #[test]
    fn an_attempt_that_counted_is_not_one_that_was_given_back() {
        let counted = ("a", AttemptEnding::Failed, EarlyFailure::Machine);
        assert!(is_given_back_by("a", &[counted]));
    }

    #[test]
    fn an_attempt_whose_worker_is_healthy_or_of_an_earlier_version_counts() {
        let worker = WorkerId::new("a");
        assert!(!is_given_back(Some(EarlyFailure::Run), &worker, []));
        assert!(!is_given_back(None, &worker, []));
    }

    #[test]
    fn a_side_that_a_later_version_knows_is_read() {
        let read: EarlyFailure = serde_json::from_str(r#""moon""#).unwrap();
        assert_eq!(read, EarlyFailure::Run);
    }
}
