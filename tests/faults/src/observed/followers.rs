//! Clients that follow the logs of runs, and may leave at any time. A client that was shown the end of a log
//! was shown all of it.

use std::time::Duration;

use cts_tests::Api;
use reqwest::Client;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::between::Between;
use crate::random::Random;
use crate::violation::{Rule, Violation};

const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time at one log.
const LONGEST: Duration = Duration::from_secs(20);
/// Percentage of followers that leave after a moment.
const IMPATIENT: u64 = 30;

/// The outcomes of some followers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Followed {
    /// Logs to their end.
    pub(crate) whole: usize,
    /// Logs that broke off, as they may while something fails.
    pub(crate) broken: usize,
    /// Logs that were left.
    pub(crate) left: usize,
    /// Logs that had an end and were not whole, and when they were followed and looked at again.
    violations: Vec<(Between, Violation)>,
}

impl Followed {
    pub(crate) fn add(&mut self, other: Self) {
        self.whole += other.whole;
        self.broken += other.broken;
        self.left += other.left;
        self.violations.extend(other.violations);
    }

    /// Drops violations that writes in this period could excuse, which the database has forgotten.
    pub(crate) fn forget(&mut self, lost: Between) {
        self.violations.retain(|(at, _)| !at.may_be_in(lost));
    }

    /// Takes the violations that no forgotten write can excuse.
    pub(crate) fn violations(&mut self) -> impl Iterator<Item = Violation> {
        self.violations.drain(..).map(|(_, violation)| violation)
    }
}

/// How it went with one log.
enum Course {
    Whole(String),
    Broken,
    Left,
}

/// Follows one log after the other until the trouble is over.
pub(crate) async fn follow(apis: &[Api], mut random: Random, over: CancellationToken) -> Followed {
    let client = Client::builder().no_proxy().build().unwrap();
    let mut followed = Followed::default();
    while !over.is_cancelled() {
        let api = &apis[random.index(apis.len())];
        let Some(run) = running(api, &mut random).await else {
            tokio::select! {
                () = over.cancelled() => break,
                () = sleep(BETWEEN_LOOKS) => continue,
            }
        };
        let begun = Instant::now();
        let time = if random.percent(IMPATIENT) {
            Duration::from_millis(random.between(1, 500))
        } else {
            LONGEST
        };
        match of_one(&client, api, &run, time).await {
            Course::Left => followed.left += 1,
            Course::Broken => followed.broken += 1,
            Course::Whole(shown) => {
                followed.whole += 1;
                let stored = whole_log(&client, api, &run).await;
                if let Some(stored) = stored.filter(|stored| *stored != shown) {
                    let violation = incomplete(&run, &shown, &stored);
                    let at = Between(begun, Instant::now());
                    followed.violations.push((at, violation));
                }
            }
        }
    }
    followed
}

/// A running run, if the API shows one.
async fn running(api: &Api, random: &mut Random) -> Option<String> {
    let ask = api.ask("/v1/runs?status=running&limit=20");
    let Ok(Ok((200, answer))) = timeout(READ_TIMEOUT, ask).await else {
        return None;
    };
    let runs = answer["runs"].as_array()?;
    if runs.is_empty() {
        return None;
    }
    let run = &runs[random.index(runs.len())];
    run["id"].as_str().map(str::to_owned)
}

async fn of_one(client: &Client, api: &Api, run: &str, time: Duration) -> Course {
    let path = format!("/v1/runs/{run}/log?follow=true");
    match timeout(time, text(client, api, &path)).await {
        Ok(Ok(text)) => Course::Whole(text),
        Ok(Err(_)) => Course::Broken,
        Err(_) => Course::Left,
    }
}

/// `None` if it cannot be read, or the run is gone.
async fn whole_log(client: &Client, api: &Api, run: &str) -> Option<String> {
    let path = format!("/v1/runs/{run}/log");
    let reading = timeout(READ_TIMEOUT, text(client, api, &path));
    reading.await.ok()?.ok()
}

async fn text(client: &Client, api: &Api, path: &str) -> reqwest::Result<String> {
    let answer = client.get(api.url(path)).send().await?;
    answer.error_for_status()?.text().await
}

fn incomplete(run: &str, shown: &str, stored: &str) -> Violation {
    let last = |text: &str| text.lines().next_back().unwrap_or_default().to_owned();
    Violation::new(
        Rule::NothingLost,
        format!("log of run {run}"),
        format!(
            "a follower was shown {} lines to the end, and there are {}; the last ones are {} and {}",
            shown.lines().count(),
            stored.lines().count(),
            last(shown),
            last(stored)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_was_followed_during_a_failover_may_have_lost_lines() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let followed = |from, until| Followed {
            violations: vec![(Between(at(from), at(until)), incomplete("a", "x", ""))],
            ..Followed::default()
        };
        for (mut followed, violations) in [(followed(1, 3), 1), (followed(1, 5), 0)] {
            followed.forget(Between(at(4), at(7)));
            assert_eq!(followed.violations().count(), violations);
        }
    }
}
