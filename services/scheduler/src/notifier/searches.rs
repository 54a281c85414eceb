//! Searches of logs: one for each caller, and the rate of all of them.
//!
//! A new search of a caller ends the caller's earlier search; other schedulers get a hint for that.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Nanoseconds for each byte that the searches of this scheduler examine: 20 MiB a second.
const PER_BYTE: u64 = 1_000_000_000_u64.div_ceil(20 << 20);

#[derive(Debug, Default)]
pub(crate) struct Searches {
    /// The begin of the newest search of each caller. A search that has ended has cancelled its token.
    newest: Mutex<HashMap<String, (DateTime<Utc>, CancellationToken)>>,
    /// Time until which the examined bytes last at the full rate.
    used_until: Mutex<Option<Instant>>,
}

impl Searches {
    /// Begins a search of this caller and ends the earlier one. The token is cancelled when the search must end; the
    /// search cancels it when it ends.
    pub(super) fn begin(&self, caller: String, at: DateTime<Utc>) -> CancellationToken {
        let token = CancellationToken::new();
        let mut newest = self.newest.lock();
        newest.retain(|_caller, (_at, token)| !token.is_cancelled());
        if let Some((_at, earlier)) = newest.insert(caller, (at, token.clone())) {
            earlier.cancel();
        }
        token
    }

    /// Ends the search of this caller if it began before this time.
    pub(super) fn end_before(&self, caller: &str, at: DateTime<Utc>) {
        let newest = self.newest.lock();
        if let Some((begun, token)) = newest.get(caller)
            && *begun < at
        {
            token.cancel();
        }
    }

    /// Counts examined bytes. Returns the time from which more may be examined.
    pub(crate) fn count(&self, bytes: u64) -> Instant {
        let now = Instant::now();
        let mut used_until = self.used_until.lock();
        let from = used_until.map_or(now, |until| until.max(now));
        *used_until.insert(from + Duration::from_nanos(bytes.saturating_mul(PER_BYTE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    #[test]
    fn a_new_search_ends_only_the_earlier_search_of_its_caller() {
        let searches = Searches::default();
        let first = searches.begin("a".to_owned(), at(1));
        let other = searches.begin("b".to_owned(), at(1));
        let second = searches.begin("a".to_owned(), at(2));
        assert!(first.is_cancelled() && !other.is_cancelled() && !second.is_cancelled());
        // Its own hint comes back, and an earlier hint comes late.
        searches.end_before("a", at(2));
        searches.end_before("a", at(1));
        assert!(!second.is_cancelled());
        searches.end_before("a", at(3));
        assert!(second.is_cancelled() && !other.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn searches_share_twenty_mebibytes_a_second() {
        let (searches, begun) = (Searches::default(), Instant::now());
        assert_eq!(searches.count(0), begun);
        searches.count(10 << 20);
        let until = searches.count(10 << 20);
        let took = until - begun;
        assert!(took >= Duration::from_secs(1), "{took:?}");
        assert!(took < Duration::from_millis(1_050), "{took:?}");
        tokio::time::sleep_until(until + Duration::from_secs(1)).await;
        assert_eq!(searches.count(0), Instant::now());
    }
}
