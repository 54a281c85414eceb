//! Reasons why no worker takes a run that is due.

use crate::engine::capability::{Capabilities, MissingCapability, Requirement};

/// A worker, reduced to the properties that decide whether it takes a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Capabilities of the worker.
    pub capabilities: &'a Capabilities,
    /// The worker has been silent for long enough to count as lost.
    pub lost: bool,
    /// The worker takes no new runs.
    pub draining: bool,
    /// Why the worker takes no new runs until its own check succeeds.
    pub unable: Option<&'a str>,
    /// The worker has the settings that the run needs.
    pub has_settings: bool,
    /// Maximum number of simultaneous runs.
    pub slots: u32,
    /// Number of runs that the worker is working on.
    pub running: u32,
}

/// Reason why no worker takes a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnschedulableReason {
    /// The list of workers is empty.
    #[error("there is no worker")]
    NoWorker,
    /// Every worker is draining or lost.
    #[error("no worker takes new runs: {}", counts(*draining, *lost))]
    NoneActive {
        /// Workers that take no new runs.
        draining: usize,
        /// Workers that do not renew their registration.
        lost: usize,
    },
    /// No worker that takes new runs has the capabilities that the run requires.
    #[error("no worker can run it: {0}")]
    NoneFits(MissingCapability),
    /// Workers with the capabilities have different settings than the run needs.
    #[error(
        "no worker that can run it has the settings in force: {workers} have other backend or provider blocks"
    )]
    OtherSettings {
        /// Number of these workers.
        workers: usize,
    },
    /// The self-checks of the suitable workers fail, so that they take no new runs.
    #[error(
        "the workers that can run it take no new runs, because their own checks fail: {workers}, the first with: {reason}"
    )]
    NoneHealthy {
        /// Number of these workers.
        workers: usize,
        /// The error of the first worker.
        reason: String,
    },
    /// The suitable workers have no free slot.
    #[error("all {slots} slots of the workers that can run it are taken")]
    NoFreeSlot {
        /// Number of their slots.
        slots: u64,
    },
}

/// Counts of workers that take no new runs, as `1 draining, 2 lost`.
fn counts(draining: usize, lost: usize) -> String {
    let counts = [(draining, "draining"), (lost, "lost")];
    let some = counts.iter().filter(|(count, _state)| *count > 0);
    let some: Vec<_> = some
        .map(|(count, state)| format!("{count} {state}"))
        .collect();
    some.join(", ")
}

impl UnschedulableReason {
    /// Whether waiting helps: the blocking runs end by themselves.
    pub fn ends_by_itself(&self) -> bool {
        matches!(self, Self::NoFreeSlot { .. })
    }
}

/// Returns why no worker of `workers` takes a run with this requirement; `None` if a worker takes it.
pub fn unschedulable_reason<'a>(
    workers: impl IntoIterator<Item = Candidate<'a>>,
    requirement: &Requirement,
) -> Option<UnschedulableReason> {
    let (mut lost, mut draining, mut others, mut slots) = (0, 0, 0, 0_u64);
    let mut lacks = None;
    let (mut unable, mut first) = (0, None);
    for worker in workers {
        if worker.lost {
            lost += 1;
        } else if worker.draining {
            draining += 1;
        } else if let Err(lack) = worker.capabilities.can_run(requirement) {
            lacks.get_or_insert(lack);
        } else if !worker.has_settings {
            others += 1;
        } else if let Some(reason) = worker.unable {
            unable += 1;
            first.get_or_insert(reason);
        } else if worker.running < worker.slots {
            return None;
        } else {
            slots += u64::from(worker.slots);
        }
    }
    Some(if slots > 0 {
        UnschedulableReason::NoFreeSlot { slots }
    } else if let Some(reason) = first {
        UnschedulableReason::NoneHealthy {
            workers: unable,
            reason: reason.to_owned(),
        }
    } else if others > 0 {
        UnschedulableReason::OtherSettings { workers: others }
    } else if let Some(lacks) = lacks {
        UnschedulableReason::NoneFits(lacks)
    } else if lost + draining > 0 {
        UnschedulableReason::NoneActive { draining, lost }
    } else {
        UnschedulableReason::NoWorker
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::capability::Engine;

    fn terraform(version: &str) -> Capabilities {
        Capabilities {
            engines: vec![Engine {
                driver: "terraform".into(),
                version: version.into(),
            }],
            bundles: false,
        }
    }

    fn idle(capabilities: &Capabilities) -> Candidate<'_> {
        Candidate {
            capabilities,
            lost: false,
            draining: false,
            unable: None,
            has_settings: true,
            slots: 2,
            running: 0,
        }
    }

    fn reason(workers: &[Candidate<'_>], requirement: &Requirement) -> Option<String> {
        let reason = unschedulable_reason(workers.iter().copied(), requirement)?;
        let is_busy = workers.iter().any(|worker| worker.running == worker.slots);
        assert_eq!(reason.ends_by_itself(), is_busy, "{reason}");
        Some(reason.to_string())
    }

    #[test]
    fn one_worker_that_fits_and_is_free_is_enough() {
        let (right, wrong) = (terraform("1.9.8"), Capabilities::default());
        let lost = Candidate {
            lost: true,
            ..idle(&right)
        };
        let busy = Candidate {
            running: 2,
            ..idle(&right)
        };
        let workers = [idle(&wrong), lost, busy, idle(&right)];
        assert_eq!(reason(&workers, &Requirement::default()), None);
    }

    #[test]
    fn the_reason_is_what_is_nearest_to_a_worker_that_takes_it() {
        let capabilities = terraform("1.9.8");
        let any = Requirement::default();
        let free = idle(&capabilities);
        let lost = Candidate { lost: true, ..free };
        let draining = Candidate {
            draining: true,
            ..free
        };
        let busy = Candidate { running: 2, ..free };
        let other = Candidate {
            has_settings: false,
            ..free
        };
        let full = Candidate {
            unable: Some("no space left"),
            ..free
        };
        let pinned = Requirement {
            version: Some("1.5.7".into()),
            ..Requirement::default()
        };
        assert_eq!(reason(&[], &any).unwrap(), "there is no worker");
        assert_eq!(
            reason(&[lost], &any).unwrap(),
            "no worker takes new runs: 1 lost"
        );
        assert_eq!(
            reason(&[lost, draining], &any).unwrap(),
            "no worker takes new runs: 1 draining, 1 lost"
        );
        assert_eq!(
            reason(&[lost, other], &any).unwrap(),
            "no worker that can run it has the settings in force: 1 have other backend or provider blocks"
        );
        assert_eq!(
            reason(&[other, full, lost, full], &any).unwrap(),
            "the workers that can run it take no new runs, because their own checks fail: 2, the first with: no space left"
        );
        assert_eq!(
            reason(&[full, free], &any),
            None,
            "the healthy one takes it"
        );
        assert_eq!(
            reason(&[lost, full, busy, busy], &any).unwrap(),
            "all 4 slots of the workers that can run it are taken"
        );
        assert_eq!(
            reason(&[free, draining], &pinned).unwrap(),
            r#"no worker can run it: no version 1.5.7 for driver "terraform", only 1.9.8"#
        );
    }
}
