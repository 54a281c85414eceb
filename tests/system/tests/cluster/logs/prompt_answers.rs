//! Requests every second during an outage.

use std::time::Duration;

use cts_tests::Api;
use serde_json::Value;
use tokio::time::{Instant, interval};

use crate::cluster::scene::POLL;

/// Time for an answer of the API during an outage, on a busy machine.
const ANSWER: Duration = Duration::from_secs(2).saturating_add(POLL);

/// Asks the API every second for this time, and returns the answers, oldest first. Three of four come in time, which
/// leaves the others to a machine that is overloaded for a moment.
pub(crate) async fn ask_for(api: &Api, path: &str, time: Duration) -> Vec<(u16, Value)> {
    let begun = Instant::now();
    let mut ticks = interval(Duration::from_secs(1));
    let mut answers = Vec::new();
    let mut late = Vec::new();
    while begun.elapsed() < time {
        ticks.tick().await;
        let asked = Instant::now();
        answers.push(api.ask(path).await.unwrap());
        let took = asked.elapsed();
        if took > ANSWER {
            late.push(took);
        }
    }
    assert!(late.len() * 4 <= answers.len(), "{path} took {late:?}");
    answers
}
