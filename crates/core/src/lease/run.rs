//! The keeper's side of a run's lease.

use std::time::Duration;

use crate::identity::LeaseEpoch;

/// The lease columns of a run's row, and what may be done to them. Times are database time, as durations
/// since any fixed moment.
///
/// A stored row adds that at most one run of a task is leased, and the holder: a statement
/// about the lease names both its holder and its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunLease {
    /// Number of the newest grant; zero before the first.
    pub epoch: LeaseEpoch,
    /// End of the lease; `None` while the run is not leased. A lease whose end has passed stays until it
    /// is taken back.
    pub expires_at: Option<Duration>,
}

/// A run cannot be granted, because it is leased; also when that lease has expired, since only
/// [taking it back](RunLease::reap) decides what becomes of the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run is leased in epoch {epoch}")]
pub struct StillLeased {
    /// Epoch of the lease that is there.
    pub epoch: LeaseEpoch,
}

/// A word about a lease comes too late: the run is no longer leased in that epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the lease of epoch {epoch} is lost")]
pub struct LostLease {
    /// Epoch that was named.
    pub epoch: LeaseEpoch,
}

impl RunLease {
    /// Leases the run for `life` from `now`, in the next epoch.
    pub fn grant(&mut self, now: Duration, life: Duration) -> Result<LeaseEpoch, StillLeased> {
        if self.expires_at.is_some() {
            return Err(StillLeased { epoch: self.epoch });
        }
        self.epoch = self.epoch.next();
        self.expires_at = Some(now.saturating_add(life));
        Ok(self.epoch)
    }

    /// Extends the lease to `life` from `now`, but never shortens it. One that has expired and was not taken back is
    /// in force again: no other worker was granted the run.
    pub fn renew(
        &mut self,
        epoch: LeaseEpoch,
        now: Duration,
        life: Duration,
    ) -> Result<(), LostLease> {
        match self.expires_at {
            Some(end) if self.epoch == epoch => {
                self.expires_at = Some(end.max(now.saturating_add(life)));
                Ok(())
            }
            _ => Err(LostLease { epoch }),
        }
    }

    /// Ends the lease at its holder's word. An expired lease that was not taken back counts: the work is
    /// done, and no other worker has begun it.
    pub fn complete(&mut self, epoch: LeaseEpoch) -> Result<(), LostLease> {
        if self.expires_at.is_none() || self.epoch != epoch {
            return Err(LostLease { epoch });
        }
        self.expires_at = None;
        Ok(())
    }

    /// Takes the lease back if it has ended by `until`; says whether it did. `until` is the present, or
    /// earlier where the [clock has leapt](super::KeeperClock::reap_until).
    pub fn reap(&mut self, until: Duration) -> bool {
        let expired = self.expires_at.is_some_and(|end| end <= until);
        if expired {
            self.expires_at = None;
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn granted() -> (RunLease, LeaseEpoch) {
        let mut lease = RunLease::default();
        let epoch = lease.grant(at(0), LIFE).unwrap();
        (lease, epoch)
    }

    #[test]
    fn a_grant_is_a_new_epoch_and_excludes_others_until_taken_back() {
        let (mut lease, first) = granted();
        assert_eq!(first, LeaseEpoch::new(1));
        assert_eq!(lease.grant(at(31), LIFE), Err(StillLeased { epoch: first }));
        assert!(!lease.reap(at(29)));
        assert!(lease.reap(at(30)));
        assert!(!lease.reap(at(30)));
        assert_eq!(lease.grant(at(31), LIFE), Ok(LeaseEpoch::new(2)));
    }

    #[test]
    fn a_lease_is_renewed_until_it_is_taken_back() {
        let (mut lease, epoch) = granted();
        assert_eq!(lease.renew(epoch, at(29), LIFE), Ok(()));
        assert_eq!(lease.expires_at, Some(at(59)));
        assert_eq!(lease.renew(epoch, at(100), LIFE), Ok(()));
        assert_eq!(lease.expires_at, Some(at(130)));
        assert!(!lease.reap(at(129)));
        assert!(lease.reap(at(130)));
        assert_eq!(lease.renew(epoch, at(130), LIFE), Err(LostLease { epoch }));
        assert_eq!(lease.expires_at, None);
    }

    #[test]
    fn a_renewal_never_shortens() {
        let (mut lease, epoch) = granted();
        assert_eq!(lease.renew(epoch, at(1), at(3)), Ok(()));
        assert_eq!(lease.expires_at, Some(at(30)));
    }

    #[test]
    fn an_expired_lease_can_be_completed_until_it_is_taken_back() {
        let (mut lease, epoch) = granted();
        let mut taken_back = lease;
        assert_eq!(lease.complete(epoch), Ok(()));
        assert_eq!(lease.complete(epoch), Err(LostLease { epoch }));
        assert!(taken_back.reap(at(30)));
        assert_eq!(taken_back.complete(epoch), Err(LostLease { epoch }));
    }

    #[test]
    fn words_of_an_old_epoch_are_refused() {
        let (mut lease, old) = granted();
        assert!(lease.reap(at(30)));
        lease.grant(at(30), LIFE).unwrap();
        let before = lease;
        assert_eq!(
            lease.renew(old, at(31), LIFE),
            Err(LostLease { epoch: old })
        );
        assert_eq!(lease.complete(old), Err(LostLease { epoch: old }));
        assert_eq!(lease, before);
    }
}
