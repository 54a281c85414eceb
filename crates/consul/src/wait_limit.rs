//! Decides how long a quiet query waits at an address where something ends quiet connections, without IO
//! (docs/runs.md#views-and-blocking-queries).

use std::time::Duration;

/// Shortest wait after which a lost connection is the limit of a server or proxy, and not an outage.
const QUIET: Duration = Duration::from_secs(5);
/// Cuts within this time count as one cut, with the longest wait among them: a proxy that restarts ends connections of
/// every age.
const BURST: Duration = Duration::from_secs(1);
/// Pause between two trials of a longer wait. A single cut is forgotten after that time.
const TRIAL_EVERY: Duration = Duration::from_hours(1);
/// A wait below this is a warning: each view is then read more than six times a minute.
const SHORT: Duration = Duration::from_secs(10);

/// Known cuts at one address. All times are counted from a fixed moment.
#[derive(Debug, Default)]
pub(crate) struct WaitLimit {
    /// The two shortest cuts and the newest cut, in the order of their time.
    cuts: Vec<Cut>,
    next_trial: Duration,
    /// The wait that was reported last.
    reported: Option<Duration>,
    has_warned: bool,
}

#[derive(Debug, Clone, Copy)]
struct Cut {
    at: Duration,
    waited: Duration,
}

/// A query that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    begun: Duration,
    /// Requested duration for which Consul holds the query.
    pub(crate) time: Duration,
    is_trial: bool,
}

/// A line that is due: queries wait for a shorter time from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shortened {
    pub(crate) wait: Duration,
    /// The line is a warning.
    pub(crate) is_warning: bool,
}

impl Wait {
    /// Whether the query has waited so long that the loss of its connection may be a limit on quiet connections.
    pub(crate) fn is_quiet(self, now: Duration) -> bool {
        now.saturating_sub(self.begun) >= QUIET
    }
}

impl WaitLimit {
    /// A query that would wait for `wanted` begins.
    pub(crate) fn begin(&mut self, wanted: Duration, now: Duration) -> Wait {
        let limit = self.limit().filter(|limit| *limit < wanted);
        let is_trial = limit.is_some() && now >= self.next_trial;
        if is_trial {
            self.next_trial = now + TRIAL_EVERY;
        }
        Wait {
            begun: now,
            time: limit.filter(|_| !is_trial).unwrap_or(wanted),
            is_trial,
        }
    }

    /// The query was answered.
    pub(crate) fn answered(&mut self, wait: Wait, now: Duration) {
        let waited = now.saturating_sub(wait.begun);
        let Some(limit) = self.limit().filter(|limit| wait.time > *limit) else {
            return;
        };
        if waited > limit {
            self.cuts.retain(|cut| cut.waited >= waited);
            self.reported = self.limit();
        } else if wait.is_trial {
            // A change came too early, so the trial has shown nothing.
            self.next_trial = now;
        }
    }

    /// The connection of the query was cut, and nothing else has happened. Returns the line that is due.
    pub(crate) fn cut(&mut self, wait: Wait, now: Duration) -> Option<Shortened> {
        let waited = now.saturating_sub(wait.begun);
        let had_limit = self.limit().is_some();
        match self.cuts.last_mut() {
            Some(last) if now.saturating_sub(last.at) < BURST => {
                last.waited = last.waited.max(waited);
            }
            _ => self.note(Cut { at: now, waited }, had_limit),
        }
        if !had_limit {
            self.next_trial = now + TRIAL_EVERY;
        }
        self.report()
    }

    fn note(&mut self, cut: Cut, had_limit: bool) {
        // A connection that has lasted longer shows that an earlier cut had another reason.
        self.cuts.retain(|known| {
            let is_recent = cut.at.saturating_sub(known.at) < TRIAL_EVERY;
            (had_limit || is_recent) && known.waited >= safe(cut.waited)
        });
        let longest =
            (0..self.cuts.len()).max_by_key(|at| self.cuts.get(*at).map(|cut| cut.waited));
        if let Some(longest) = longest.filter(|_| self.cuts.len() > 2) {
            self.cuts.remove(longest);
        }
        self.cuts.push(cut);
    }

    fn report(&mut self) -> Option<Shortened> {
        let limit = self.limit();
        let is_other = limit != self.reported;
        self.reported = limit;
        let wait = limit.filter(|_| is_other)?;
        let is_warning = wait < SHORT && !self.has_warned;
        self.has_warned |= is_warning;
        Some(Shortened { wait, is_warning })
    }

    /// The longest wait that is safe; `None` if no limit is known. A cut must have been seen twice.
    fn limit(&self) -> Option<Duration> {
        let mut waits: Vec<_> = self.cuts.iter().map(|cut| cut.waited).collect();
        waits.sort_unstable();
        waits.get(1).map(|second| safe(*second))
    }
}

/// Consul adds up to a sixteenth to a wait, which is in whole seconds.
fn safe(cut: Duration) -> Duration {
    Duration::from_secs((cut * 4 / 5).as_secs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WANTED: Duration = Duration::from_mins(5);

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A query that begins at `begun` and is cut after `waited`.
    fn cut(limit: &mut WaitLimit, begun: Duration, waited: Duration) -> Option<Shortened> {
        let wait = limit.begin(WANTED, begun);
        assert!(wait.is_quiet(begun + waited));
        limit.cut(wait, begun + waited)
    }

    #[test]
    fn a_cut_that_is_seen_twice_shortens_the_wait_with_one_line() {
        let mut limit = WaitLimit::default();
        assert_eq!(cut(&mut limit, s(0), s(30)), None);
        assert_eq!(limit.begin(WANTED, s(31)).time, WANTED);
        let line = cut(&mut limit, s(31), s(30));
        let expected = Shortened {
            wait: s(24),
            is_warning: false,
        };
        assert_eq!(line, Some(expected));
        assert_eq!(limit.begin(WANTED, s(62)).time, s(24));
        assert_eq!(limit.begin(s(20), s(62)).time, s(20));
        // Queries that waited already are cut later.
        let late = Wait {
            begun: s(40),
            time: WANTED,
            is_trial: false,
        };
        assert_eq!(limit.cut(late, s(70)), None);
    }

    #[test]
    fn an_early_loss_is_no_limit() {
        let wait = WaitLimit::default().begin(WANTED, s(100));
        assert!(!wait.is_quiet(s(104)) && wait.is_quiet(s(105)));
    }

    #[test]
    fn a_proxy_that_restarts_shortens_nothing() {
        let mut limit = WaitLimit::default();
        let waits: Vec<_> = (0..300).map(|at| limit.begin(WANTED, s(at))).collect();
        for wait in waits.iter().rev().skip(5) {
            assert_eq!(limit.cut(*wait, s(300)), None);
        }
        assert_eq!(limit.begin(WANTED, s(301)).time, WANTED);
        // Nor does a second one, hours later.
        assert_eq!(cut(&mut limit, s(9000), s(7)), None);
        assert_eq!(limit.begin(WANTED, s(9010)).time, WANTED);
    }

    #[test]
    fn a_longer_cut_forgets_an_accident() {
        let mut limit = WaitLimit::default();
        cut(&mut limit, s(0), s(6));
        assert_eq!(cut(&mut limit, s(10), s(60)), None);
        assert_eq!(cut(&mut limit, s(80), s(60)).unwrap().wait, s(48));
    }

    #[test]
    fn a_wait_below_ten_seconds_is_one_warning() {
        let mut limit = WaitLimit::default();
        cut(&mut limit, s(0), s(12));
        assert!(cut(&mut limit, s(20), s(12)).unwrap().is_warning);
        cut(&mut limit, s(40), s(8));
        let shorter = cut(&mut limit, s(60), s(8)).unwrap();
        assert_eq!((shorter.wait, shorter.is_warning), (s(6), false));
    }

    fn limited_to(seconds: u64) -> WaitLimit {
        let mut limit = WaitLimit::default();
        cut(&mut limit, s(0), s(seconds));
        cut(&mut limit, s(seconds + 2), s(seconds));
        limit
    }

    #[test]
    fn one_query_tries_longer_each_hour_and_a_cut_keeps_the_limit() {
        let mut limit = limited_to(30);
        let mut trials = 0;
        for at in (70..3 * 3600 + 70).step_by(25) {
            let wait = limit.begin(WANTED, s(at));
            if wait.time == WANTED {
                trials += 1;
                assert_eq!(limit.cut(wait, s(at + 30)), None);
            } else {
                assert_eq!(wait.time, s(24));
                limit.answered(wait, s(at + 24));
            }
        }
        assert_eq!(trials, 2, "the first one after an hour");
    }

    #[test]
    fn a_trial_that_lasts_ends_the_limit_and_a_change_in_it_repeats_it() {
        let mut limit = limited_to(30);
        let trial = limit.begin(WANTED, s(4000));
        assert_eq!(trial.time, WANTED);
        limit.answered(trial, s(4003));
        let again = limit.begin(WANTED, s(4004));
        assert_eq!(again.time, WANTED);
        assert_eq!(limit.begin(WANTED, s(4004)).time, s(24), "one at a time");
        limit.answered(again, s(4304));
        assert_eq!(limit.begin(WANTED, s(4305)).time, WANTED);
        // The next limit is learned, and reported, as the first one.
        cut(&mut limit, s(5000), s(30));
        assert!(cut(&mut limit, s(5040), s(30)).is_some());
    }

    #[test]
    fn a_trial_shows_a_limit_that_has_become_longer() {
        let mut limit = limited_to(30);
        cut(&mut limit, s(4000), s(100));
        assert_eq!(cut(&mut limit, s(4200), s(100)).unwrap().wait, s(80));
    }

    /// The end of a query, or its beginning.
    type Next = Option<(Wait, bool)>;

    proptest! {
        /// Whatever the limit, few queries are cut within two hours, and the wait is as long as is safe.
        #[test]
        fn queries_are_soon_no_longer_cut(
            limit_of_proxy in 6..200_u64,
            views in 1..40_usize,
            changes in 0..50_u64,
        ) {
            let mut limit = WaitLimit::default();
            let mut next: Vec<(u64, Next)> = (0..views as u64).map(|at| (at, None)).collect();
            let (mut cuts, mut last_cut) = (0, 0);
            while let Some((now, event)) = next.iter_mut().min_by_key(|(at, _)| *at).filter(|(at, _)| *at < 7000) {
                match event.take() {
                    None => {
                        let wait = limit.begin(WANTED, s(*now));
                        // Consul answers a change, or a little after the end of the wait.
                        let change = if *now % 50 < changes { *now % 7 + 1 } else { u64::MAX };
                        let answer = change.min(wait.time.as_secs() * 17 / 16);
                        *event = Some((wait, answer >= limit_of_proxy));
                        *now += answer.min(limit_of_proxy);
                    }
                    Some((wait, true)) => {
                        limit.cut(wait, s(*now));
                        (cuts, last_cut) = (cuts + 1, *now);
                    }
                    Some((wait, false)) => limit.answered(wait, s(*now)),
                }
            }
            prop_assert!(cuts <= 2 * views + 2, "{} cuts", cuts);
            if changes == 0 {
                prop_assert_eq!(limit.limit(), Some(safe(s(limit_of_proxy))));
                prop_assert!(!(600..3600).contains(&last_cut), "at {}", last_cut);
            }
        }
    }
}
