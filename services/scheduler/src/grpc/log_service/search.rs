//! The search of a log for a text, from the newest line to the oldest.

use std::time::Duration;

use cts_proto::log::v1::{LogSearchState, SearchLogResponse};
use cts_store::{LogRange, Store};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::notifier::Notifier;
use crate::status::OrStatus as _;

/// Maximum number of found lines.
const FOUND: usize = 1_000;

/// Maximum duration of a search.
const LONGEST: Duration = Duration::from_mins(1);

/// Longest silence of a search, below the promised 5 s.
const SILENCE: Duration = Duration::from_secs(4);

/// Lines examined at once. All of them fit into a message.
const PAGE: u32 = 500;

/// Searches a range, newest first, until the token says that a newer search of the caller has begun. Answers with each
/// page of found lines, and after some silence with the progress.
pub(super) async fn search(
    store: &dyn Store,
    notifier: &Notifier,
    replaced: CancellationToken,
    range: LogRange,
    answers: &mpsc::Sender<Result<SearchLogResponse, Status>>,
) -> Result<(), Status> {
    let deadline = Instant::now() + LONGEST;
    let mut tells_at = Instant::now() + SILENCE;
    let mut resumes_at = notifier.searches.count(0);
    let oldest = range.after + 1;
    let mut range = LogRange {
        limit: PAGE,
        ..range
    };
    let (mut left, mut state) = (FOUND, LogSearchState::Searching);
    while state == LogSearchState::Searching {
        tokio::select! {
            () = replaced.cancelled() => state = LogSearchState::Replaced,
            () = sleep_until(resumes_at.min(deadline).min(tells_at)) => {}
        }
        let (mut lines, now) = (Vec::new(), Instant::now());
        if state == LogSearchState::Searching && now >= deadline {
            state = LogSearchState::TimedOut;
        } else if state == LogSearchState::Searching && now >= resumes_at {
            let page = store.log_excerpts(&range).await.or_status()?;
            resumes_at = notifier.searches.count(page.bytes);
            range.before = page.reached.unwrap_or(oldest);
            lines = page.lines;
            lines.truncate(left);
            left -= lines.len();
            if left == 0 {
                range.before = lines.last().map_or(oldest, |line| line.position);
                state = LogSearchState::Full;
            } else if range.before <= oldest {
                state = LogSearchState::Complete;
            }
        }
        if lines.is_empty() && state == LogSearchState::Searching && now < tells_at {
            continue;
        }
        tells_at = now + SILENCE;
        let answer = SearchLogResponse {
            lines,
            searched_from: range.before,
            state: state.into(),
        };
        if answers.send(Ok(answer)).await.is_err() {
            break;
        }
    }
    Ok(())
}
