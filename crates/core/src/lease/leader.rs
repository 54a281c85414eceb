//! The keeper's side of leadership.

use std::time::Duration;

use crate::identity::LeaderEpoch;

/// The one row that says which scheduler does what needs a single owner (ARCHITECTURE.md#7-data).
/// Times are database time, as durations since any fixed moment.
///
/// A stored row must be locked from the [fence check](LeaderRow::admits) to the end of the leader's
/// transaction, so that no takeover comes between.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeaderRow {
    /// Number of the present or last leadership; zero before the first.
    pub epoch: LeaderEpoch,
    /// Who leads: one life of one process. `None` when the row was freed.
    pub holder: Option<String>,
    /// End of the leadership unless it is renewed.
    pub expires_at: Duration,
}

/// Another process leads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{holder:?} leads in epoch {epoch}")]
pub struct HeldByAnother {
    /// Who leads.
    pub holder: String,
    /// Its epoch.
    pub epoch: LeaderEpoch,
    /// Time until it can be replaced, unless it renews.
    pub remaining: Duration,
}

/// A word of a leader comes too late: it does not lead in that epoch any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("leadership of epoch {epoch} is over")]
pub struct NotLeading {
    /// Epoch that was named.
    pub epoch: LeaderEpoch,
}

impl LeaderRow {
    /// Makes `who` the leader for `life` from `now`, if there is none, or the leadership has expired; in the
    /// next epoch. The one who leads already goes on in its epoch, for at least as long as before; also
    /// when it had expired, since no other came between.
    pub fn acquire(
        &mut self,
        who: &str,
        now: Duration,
        life: Duration,
    ) -> Result<LeaderEpoch, HeldByAnother> {
        let end = now.saturating_add(life);
        match self.holder.as_deref() {
            Some(holder) if holder == who => {
                self.expires_at = self.expires_at.max(end);
                return Ok(self.epoch);
            }
            Some(holder) if self.expires_at > now => {
                return Err(HeldByAnother {
                    holder: holder.to_owned(),
                    epoch: self.epoch,
                    remaining: self.expires_at.saturating_sub(now),
                });
            }
            Some(_) | None => {}
        }
        *self = Self {
            epoch: self.epoch.next(),
            holder: Some(who.to_owned()),
            expires_at: end,
        };
        Ok(self.epoch)
    }

    /// Puts the leadership of `epoch` into the next epoch without a change of hands: after a write whose
    /// end its leader does not know, so that it cannot happen after a newer one.
    pub fn raise(&mut self, epoch: LeaderEpoch, now: Duration) -> Result<LeaderEpoch, NotLeading> {
        if !self.admits(epoch, now) {
            return Err(NotLeading { epoch });
        }
        self.epoch = self.epoch.next();
        Ok(self.epoch)
    }

    /// Frees the row at its leader's word, at once.
    pub fn resign(&mut self, epoch: LeaderEpoch) -> Result<(), NotLeading> {
        if self.epoch != epoch || self.holder.is_none() {
            return Err(NotLeading { epoch });
        }
        self.holder = None;
        Ok(())
    }

    /// The fence: whether a leader's write of `epoch` is accepted. Only the newest epoch's is,
    /// and only while it leads.
    pub fn admits(&self, epoch: LeaderEpoch, now: Duration) -> bool {
        self.epoch == epoch && self.holder.is_some() && self.expires_at > now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(15);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn epoch(number: u64) -> LeaderEpoch {
        LeaderEpoch::new(number)
    }

    #[test]
    fn a_free_row_is_taken_and_the_leader_keeps_its_epoch() {
        let mut row = LeaderRow::default();
        assert_eq!(row.acquire("a", at(0), LIFE), Ok(epoch(1)));
        assert_eq!(row.acquire("a", at(5), LIFE), Ok(epoch(1)));
        assert_eq!(row.expires_at, at(20));
        assert_eq!(
            row.acquire("b", at(19), LIFE),
            Err(HeldByAnother {
                holder: "a".into(),
                epoch: epoch(1),
                remaining: at(1),
            })
        );
    }

    #[test]
    fn an_expired_leadership_is_taken_over_in_the_next_epoch() {
        let mut row = LeaderRow::default();
        row.acquire("a", at(0), LIFE).unwrap();
        assert!(row.admits(epoch(1), at(14)));
        assert!(!row.admits(epoch(1), at(15)));
        assert_eq!(row.acquire("b", at(15), LIFE), Ok(epoch(2)));
        assert!(row.admits(epoch(2), at(15)));
        assert!(!row.admits(epoch(1), at(15)));
        assert_eq!(
            row.resign(epoch(1)),
            Err(NotLeading { epoch: epoch(1) }),
            "an old leader frees nothing"
        );
        assert!(row.admits(epoch(2), at(15)));
    }

    #[test]
    fn an_expired_leadership_that_nobody_took_goes_on() {
        let mut row = LeaderRow::default();
        row.acquire("a", at(0), LIFE).unwrap();
        assert_eq!(row.acquire("a", at(100), LIFE), Ok(epoch(1)));
        assert!(row.admits(epoch(1), at(114)));
    }

    #[test]
    fn a_resigned_row_is_free_at_once_and_admits_nothing() {
        let mut row = LeaderRow::default();
        row.acquire("a", at(0), LIFE).unwrap();
        assert_eq!(row.resign(epoch(1)), Ok(()));
        assert!(!row.admits(epoch(1), at(1)));
        assert_eq!(row.resign(epoch(1)), Err(NotLeading { epoch: epoch(1) }));
        assert_eq!(row.acquire("a", at(1), LIFE), Ok(epoch(2)));
    }

    #[test]
    fn raising_shuts_out_the_leaders_own_earlier_writes() {
        let mut row = LeaderRow::default();
        row.acquire("a", at(0), LIFE).unwrap();
        assert_eq!(row.raise(epoch(1), at(1)), Ok(epoch(2)));
        assert!(!row.admits(epoch(1), at(1)));
        assert!(row.admits(epoch(2), at(1)));
        assert_eq!(
            row.raise(epoch(1), at(1)),
            Err(NotLeading { epoch: epoch(1) }),
            "a second copy of the request does nothing"
        );
        assert_eq!(row.acquire("a", at(2), LIFE), Ok(epoch(2)));
    }

    #[test]
    fn a_longer_promise_is_not_shortened() {
        let mut row = LeaderRow::default();
        row.acquire("a", at(0), LIFE).unwrap();
        row.acquire("a", at(1), at(2)).unwrap();
        assert_eq!(row.expires_at, at(15));
    }
}
