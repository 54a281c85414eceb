//! An outage of a peer in the log: one line at its beginning, one each minute, one at its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Local, TimeDelta, Utc};
use cts_core::{Clock, NO_ANSWER};
use parking_lot::Mutex;

/// Pause between two lines about one outage.
const REMINDER: TimeDelta = TimeDelta::seconds(60);

/// Whether a peer of this process, such as its database, can be reached.
///
/// Cheap to clone. All parts of a process that call the peer share one value, so that an outage is logged once. It
/// decides which lines are due; the caller logs them.
#[derive(Debug, Clone)]
pub struct Reachability(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    peer: String,
    clock: Arc<dyn Clock>,
    outage: Mutex<Option<Ongoing>>,
    /// Number of beginnings and ends of outages so far.
    turns: AtomicU64,
}

/// Marks the beginning of a call: its result is no evidence about an outage that began or ended later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallBegun(u64);

/// The current outage.
#[derive(Debug)]
struct Ongoing {
    since: DateTime<Utc>,
    logged: DateTime<Utc>,
    /// The last known reason.
    reason: Option<String>,
    failures: u64,
}

impl Reachability {
    /// A peer that is assumed to be reachable; `peer` is the subject of the log messages.
    pub fn new(peer: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared {
            peer: peer.into(),
            clock,
            outage: Mutex::default(),
            turns: AtomicU64::new(0),
        }))
    }

    /// Notes the beginning of a call.
    pub fn begin(&self) -> CallBegun {
        CallBegun(self.0.turns.load(Ordering::SeqCst))
    }

    /// Notes a failed call; its reason is `None` without an answer. Returns the log line that is due: with the first
    /// failure of an outage, and each minute, with the last reason.
    pub fn fails(&self, call: CallBegun, reason: Option<String>) -> Option<String> {
        self.fails_for(call, reason, Duration::ZERO)
    }

    /// Notes a failed call like [`Reachability::fails`]. An outage that starts with this failure counts from that
    /// long ago.
    pub fn fails_for(
        &self,
        call: CallBegun,
        reason: Option<String>,
        failing_for: Duration,
    ) -> Option<String> {
        let now = self.0.clock.now();
        let mut outage = self.0.outage.lock();
        if outage.is_none() {
            if call != self.begin() {
                return None;
            }
            self.0.turns.fetch_add(1, Ordering::SeqCst);
        }
        let ago = TimeDelta::from_std(failing_for).unwrap_or_default();
        let ongoing = Ongoing::fails(&mut outage, reason, (now - ago, now))?;
        let (peer, since) = (&self.0.peer, ongoing.since.with_timezone(&Local));
        let reason = ongoing.reason.as_deref().unwrap_or(NO_ANSWER);
        let since = since.format("%H:%M:%S");
        Some(format!(
            "{peer} is unreachable: {reason}; since {since}; trying again"
        ))
    }

    /// Notes the answer to a call. If an outage has ended, returns the log line that is due and the number of failed
    /// calls during the outage.
    pub fn answers(&self, call: CallBegun) -> Option<(String, u64)> {
        let mut outage = self.0.outage.lock();
        if call != self.begin() {
            return None;
        }
        let ended = outage.take()?;
        self.0.turns.fetch_add(1, Ordering::SeqCst);
        drop(outage);
        let lasted = self.0.clock.now().signed_duration_since(ended.since);
        let (peer, seconds) = (&self.0.peer, lasted.num_seconds().max(0));
        let line = format!("{peer} is reachable again after {seconds}s");
        Some((line, ended.failures))
    }

    /// Whether the last call failed.
    pub fn is_in_outage(&self) -> bool {
        self.0.outage.lock().is_some()
    }
}

impl Ongoing {
    /// Notes a failure at `now`; an outage that begins with it began at `since`. Returns the outage if a log line is
    /// due. A clock that was set back delays no line.
    fn fails(
        outage: &mut Option<Self>,
        reason: Option<String>,
        (since, now): (DateTime<Utc>, DateTime<Utc>),
    ) -> Option<&Self> {
        let is_new = outage.is_none();
        let ongoing = outage.get_or_insert(Self {
            since,
            logged: now,
            reason: None,
            failures: 0,
        });
        ongoing.failures = ongoing.failures.saturating_add(1);
        if reason.is_some() {
            ongoing.reason = reason;
        }
        let silent = now.signed_duration_since(ongoing.logged);
        if !is_new && silent >= TimeDelta::zero() && silent < REMINDER {
            return None;
        }
        ongoing.logged = now;
        Some(ongoing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that a test sets.
    #[derive(Debug)]
    struct SetClock(Mutex<DateTime<Utc>>);

    impl SetClock {
        fn advance(&self, seconds: i64) {
            *self.0.lock() += TimeDelta::seconds(seconds);
        }
    }

    impl Clock for SetClock {
        fn now(&self) -> DateTime<Utc> {
            *self.0.lock()
        }
    }

    fn postgres() -> (Arc<SetClock>, Reachability) {
        let clock = Arc::new(SetClock(Mutex::new(DateTime::UNIX_EPOCH)));
        let peer = Reachability::new("Postgres at db:5432", Arc::<SetClock>::clone(&clock));
        (clock, peer)
    }

    fn refused() -> String {
        "connection refused".to_owned()
    }

    #[test]
    fn an_outage_is_a_line_at_its_beginning_one_each_minute_and_one_at_its_end() {
        let (clock, peer) = postgres();
        let mut lines = 0;
        for _second in 0..150 {
            lines += usize::from(peer.fails(peer.begin(), Some(refused())).is_some());
            clock.advance(1);
        }
        assert_eq!(lines, 3, "at once, after one minute, after two");
        assert!(peer.is_in_outage());
        let line = "Postgres at db:5432 is reachable again after 150s".to_owned();
        assert_eq!(peer.answers(peer.begin()), Some((line, 150)));
        assert_eq!(peer.answers(peer.begin()), None);
        assert!(!peer.is_in_outage());
    }

    #[test]
    fn each_line_has_the_last_reason_and_the_beginning() {
        let (clock, peer) = postgres();
        let since = DateTime::UNIX_EPOCH.with_timezone(&Local);
        let since = since.format("%H:%M:%S");
        for (reason, shown) in [
            (None, "no answer in time"),
            (Some(refused()), "connection refused"),
            (None, "connection refused"),
        ] {
            assert_eq!(
                peer.fails(peer.begin(), reason).unwrap(),
                format!("Postgres at db:5432 is unreachable: {shown}; since {since}; trying again")
            );
            clock.advance(60);
        }
    }

    #[test]
    fn an_outage_may_have_begun_before_its_first_failure() {
        let (clock, peer) = postgres();
        let ago = Duration::from_secs(3);
        let begin = (clock.now() - ago).with_timezone(&Local);
        let line = peer.fails_for(peer.begin(), None, ago).unwrap();
        let since = format!("; since {};", begin.format("%H:%M:%S"));
        assert!(line.contains(&since), "{line}");
        let again = peer.fails_for(peer.begin(), None, Duration::from_mins(9));
        assert_eq!(again, None, "it has begun already");
        let (line, _failures) = peer.answers(peer.begin()).unwrap();
        assert!(line.ends_with(" after 3s"), "{line}");
    }

    #[test]
    fn clones_share_one_outage() {
        let (_clock, peer) = postgres();
        let clone = peer.clone();
        assert!(peer.fails(peer.begin(), Some(refused())).is_some());
        assert_eq!(clone.fails(clone.begin(), Some(refused())), None);
        assert!(clone.answers(clone.begin()).is_some());
        assert_eq!(peer.answers(peer.begin()), None);
    }

    #[test]
    fn calls_from_before_the_begin_or_the_end_of_an_outage_say_nothing_about_it() {
        let (_clock, peer) = postgres();
        let slow = peer.begin();
        assert!(peer.fails(peer.begin(), Some(refused())).is_some());
        assert_eq!(peer.answers(slow), None);
        let [later, timed_out] = [peer.begin(); 2];
        assert_eq!(
            peer.fails(peer.begin(), Some(refused())),
            None,
            "the outage goes on"
        );
        assert!(peer.answers(later).is_some());
        assert_eq!(peer.fails(timed_out, None), None, "it is over");
        assert!(!peer.is_in_outage());
    }

    #[test]
    fn a_clock_that_is_set_back_silences_nothing() {
        let (clock, peer) = postgres();
        assert!(peer.fails(peer.begin(), Some(refused())).is_some());
        clock.advance(-3600);
        assert!(peer.fails(peer.begin(), Some(refused())).is_some());
        let (line, _failures) = peer.answers(peer.begin()).unwrap();
        assert!(line.ends_with(" after 0s"), "{line}");
    }
}
