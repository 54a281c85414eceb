//! Lost leases, and the state locks that their Terraform may have left.

use chrono::{DateTime, TimeDelta, Utc};

use crate::words::identity::WorkerId;

/// Maximum difference between the clocks of a worker and of the database.
const CLOCKS: TimeDelta = TimeDelta::seconds(10);

/// A lease that was taken back because its holder was silent. None of its processes is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostLease {
    /// Worker that held the lease.
    pub worker: WorkerId,
    /// Start of the first attempt of its run.
    pub started_at: DateTime<Utc>,
    /// Time at which the lease was taken back.
    pub lost_at: DateTime<Utc>,
}

impl LostLease {
    /// Returns whether a lock of the task's state was made under this lease: by a Terraform on the machine of its
    /// holder, during the lease.
    ///
    /// `who` is `user@host`, `created` the time by the clock of that machine.
    pub fn has_locked(&self, who: &str, created: DateTime<Utc>) -> bool {
        let host = who.rsplit_once('@').map(|(_user, host)| host);
        let is_there = host.is_some() && host == self.worker.host();
        is_there && (self.started_at - CLOCKS..=self.lost_at + CLOCKS).contains(&created)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: &str = "0192f0c1-2b3c-7d4e-8f50-616263646566";

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn lease(worker: &str) -> LostLease {
        LostLease {
            worker: WorkerId::new(worker),
            started_at: at(1_000),
            lost_at: at(2_000),
        }
    }

    #[test]
    fn a_lock_of_that_machine_and_time_is_of_the_lease() {
        let unnamed = lease(&format!("worker-1-{LIFE}"));
        let named = lease(&format!("edge@worker-1-{LIFE}"));
        for (who, second, expected) in [
            ("cts@worker-1", 1_500, true),
            ("a@b@worker-1", 995, true),
            ("cts@worker-1", 2_005, true),
            ("cts@worker-1", 900, false),
            ("cts@worker-1", 2_100, false),
            ("cts@worker-11", 1_500, false),
            ("worker-1", 1_500, false),
            ("cts@", 1_500, false),
        ] {
            for lost in [&unnamed, &named] {
                assert_eq!(lost.has_locked(who, at(second)), expected, "{who} {second}");
            }
        }
    }

    #[test]
    fn a_worker_with_another_kind_of_id_has_locked_nothing() {
        for worker in [
            "",
            "worker-1",
            LIFE,
            &format!("é{LIFE}"),
            &format!("-{LIFE}x"),
        ] {
            let lost = lease(worker);
            assert!(!lost.has_locked("cts@worker-1", at(1_500)), "{worker}");
            assert!(!lost.has_locked("cts@", at(1_500)), "{worker}");
        }
    }
}
