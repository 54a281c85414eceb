//! The brake of the fleet as the API shows it, and its releases.

use std::collections::BTreeMap;
use std::time::Duration;

use cts_tests::Api;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::processes::uptime;

const TIMEOUT: Duration = Duration::from_secs(5);
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// How long the brake may end by itself in quiet, in hundredths of a second.
const PATIENCE: u64 = 500;

/// An answer that shows the brake set. Times are hundredths of a second since the machine was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenSet {
    /// When it was set, as the answer has it.
    pub since: String,
    /// When the request was sent.
    pub asked: u64,
    /// When the answer was there.
    pub answered: u64,
    /// Instances of the reference, by the services that have lost some of them.
    pub reference: BTreeMap<String, u64>,
}

impl SeenSet {
    /// Reads an answer; `None` if the brake is not set.
    fn read(answer: &Value, asked: u64, answered: u64) -> Option<Self> {
        let since = answer["since"].as_str().filter(|_| answer["set"] == true)?;
        let losses = answer["losses"].as_array().into_iter().flatten();
        let before = |loss: &Value| {
            let service = loss["service"].as_str()?;
            Some((service.to_owned(), loss["before"].as_u64()?))
        };
        Some(Self {
            since: since.to_owned(),
            asked,
            answered,
            reference: losses.filter_map(before).collect(),
        })
    }
}

/// Answers that showed the brake set, and releases.
#[derive(Debug)]
pub(crate) struct Brakes {
    client: Client,
    pub(crate) seen: Vec<SeenSet>,
    /// Releases by their outcome.
    pub(crate) releases: BTreeMap<&'static str, usize>,
}

impl Brakes {
    pub(crate) fn new() -> Self {
        let client = Client::builder().no_proxy().timeout(TIMEOUT).build();
        Self {
            client: client.unwrap(),
            seen: Vec::new(),
            releases: BTreeMap::new(),
        }
    }

    /// Looks again and again until the trouble is over, and releases the brake at these times.
    pub(crate) async fn watch(
        &mut self,
        apis: &[Api],
        releases: &[Duration],
        over: &CancellationToken,
    ) {
        let begun = Instant::now();
        let mut releases = releases.iter().peekable();
        for api in apis.iter().cycle() {
            if releases.next_if(|at| begun.elapsed() >= **at).is_some() {
                self.release(api).await;
            }
            // Requests may fail during a fault.
            drop(self.look(api).await);
            tokio::select! {
                () = over.cancelled() => return,
                () = sleep(BETWEEN_LOOKS) => {}
            }
        }
    }

    /// Fails while the brake is set. Releases it if it does not end by itself.
    pub(crate) async fn ended(&mut self, api: &Api) -> Result<(), String> {
        let Some(numbers) = self.look(api).await? else {
            return Ok(());
        };
        let since = self.seen.last().map(|last| last.since.clone());
        let first = self
            .seen
            .iter()
            .find(|seen| Some(&seen.since) == since.as_ref());
        if first.is_some_and(|first| uptime() > first.answered + PATIENCE) {
            self.release(api).await;
        }
        Err(format!("the brake of the fleet is set: {numbers}"))
    }

    /// The numbers of the brake while it is set.
    async fn look(&mut self, api: &Api) -> Result<Option<Value>, String> {
        let asked = uptime();
        let (status, answer) = self.call(self.client.get(api.url("/v1/brake"))).await?;
        if status != 200 || answer["configured"] != true {
            return Err(format!("the brake is not configured: {status} {answer}"));
        }
        let Some(seen) = SeenSet::read(&answer, asked, uptime()) else {
            return Ok(None);
        };
        self.seen.push(seen);
        Ok(Some(json!({"lost": answer["lost"], "of": answer["of"]})))
    }

    /// Releases the brake if no more is lost than it shows now.
    async fn release(&mut self, api: &Api) {
        let outcome = match self.look(api).await {
            Ok(Some(numbers)) => {
                let request = self.client.post(api.url("/v1/brake"));
                match self.call(request.json(&json!({"seen": numbers}))).await {
                    Ok((200, answer)) if answer["released"].is_null() => "ended before",
                    Ok((200, _)) => "released",
                    Ok((409, _)) => "refused because more was lost",
                    _ => "failed",
                }
            }
            Ok(None) => "not set",
            Err(_) => "failed",
        };
        *self.releases.entry(outcome).or_default() += 1;
    }

    async fn call(&self, request: reqwest::RequestBuilder) -> Result<(u16, Value), String> {
        let answer = request.send().await.map_err(|error| error.to_string())?;
        let status = answer.status().as_u16();
        let answer = answer.json().await.map_err(|error| error.to_string())?;
        Ok((status, answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_reference_of_the_services_while_the_brake_is_set() {
        let answer = json!({"configured": true, "set": true, "since": "s", "lost": 5, "of": 7,
            "losses": [{"service": "a", "before": 4, "now": 0}, {"service": "b", "before": 2, "now": 1}]});
        let seen = SeenSet::read(&answer, 1, 2).unwrap();
        assert_eq!((&*seen.since, seen.asked, seen.answered), ("s", 1, 2));
        let reference = [("a".to_owned(), 4), ("b".to_owned(), 2)];
        assert_eq!(seen.reference, reference.into());
        let off = json!({"configured": true, "set": false, "since": null, "losses": []});
        assert_eq!(SeenSet::read(&off, 1, 2), None);
    }
}
