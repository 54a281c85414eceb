//! Readers of the page without a browser. They follow versions and ask for fragments as its scripts do.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use http::StatusCode;
use http::header::{ACCEPT_ENCODING, ETAG, IF_NONE_MATCH};
use parking_lot::Mutex;
use reqwest::Client;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::measures::sample::Sample;

/// Time from one request for a fragment to its next.
const PERIOD: Duration = Duration::from_secs(1);

/// Requests of one reader at the same time, besides its stream.
const REQUESTS: usize = 4;

/// A stream is lost after this silence.
const SILENCE: Duration = Duration::from_secs(40);

/// Versions by their key.
type Versions = HashMap<String, String>;

/// Readers of one screen. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct PageReaders {
    reading: JoinSet<Result<()>>,
    answers: Arc<Mutex<Sample>>,
}

impl PageReaders {
    /// Readers of the overview at `page`, the address of the page with a slash at its end.
    pub(crate) async fn start(page: &str, count: u32) -> Result<Self> {
        let mut readers = Self {
            reading: JoinSet::new(),
            answers: Arc::default(),
        };
        for _ in 0..count {
            readers.add(page).await?;
        }
        Ok(readers)
    }

    async fn add(&mut self, page: &str) -> Result<()> {
        let client = Client::builder().no_proxy().no_gzip().read_timeout(SILENCE);
        let client = client.build()?;
        let document = client.get(page).send().await?.error_for_status()?;
        let fragments = fragments(&document.text().await?);
        let keys: BTreeSet<&str> = fragments.iter().map(|(_, key)| key.as_str()).collect();
        ensure!(!keys.is_empty(), "the page has no fragments");
        let keys: Vec<&str> = keys.into_iter().collect();
        let stream = format!("{page}follow?keys={}", keys.join(","));
        let (versions, _) = watch::channel(Versions::new());
        let requests = Arc::new(Semaphore::new(REQUESTS));
        for (id, key) in fragments {
            let fragment = Fragment {
                client: client.clone(),
                address: format!("{page}?fragment={id}"),
                key,
                requests: Arc::clone(&requests),
                answers: Arc::clone(&self.answers),
            };
            self.reading.spawn(fragment.keep_new(versions.subscribe()));
        }
        self.reading.spawn(follow(client, stream, versions));
        Ok(())
    }

    /// The times of all answers with fragments; fails if a reader has failed.
    pub(crate) fn end(mut self) -> Result<Sample> {
        if let Some(ended) = self.reading.try_join_next() {
            ended??;
        }
        let answers = self.answers.lock().clone();
        ensure!(answers.last().is_finite(), "no version has changed");
        Ok(answers)
    }
}

/// One fragment on the screen of one reader.
struct Fragment {
    client: Client,
    /// Address without a version.
    address: String,
    key: String,
    requests: Arc<Semaphore>,
    answers: Arc<Mutex<Sample>>,
}

impl Fragment {
    async fn keep_new(self, mut versions: watch::Receiver<Versions>) -> Result<()> {
        let (mut shown, mut tag) = (String::new(), None);
        loop {
            let is_newer = |known: &Versions| known.get(&self.key).is_some_and(|it| *it != shown);
            let newer = versions.wait_for(is_newer).await?.get(&self.key).cloned();
            let newer = newer.context("a version is lost")?;
            let permit = self.requests.acquire().await?;
            let asked = Instant::now();
            let mut request = self.client.get(format!("{}&v={newer}", self.address));
            request = request.header(ACCEPT_ENCODING, "gzip");
            if let Some(tag) = tag.take() {
                request = request.header(IF_NONE_MATCH, tag);
            }
            let answer = request.send().await?;
            let status = answer.status();
            ensure!(
                matches!(status, StatusCode::OK | StatusCode::NOT_MODIFIED),
                "a fragment is {status}"
            );
            tag = answer.headers().get(ETAG).cloned();
            answer.bytes().await?;
            drop(permit);
            self.answers.lock().add_milliseconds(asked.elapsed());
            shown = newer;
            sleep_until(asked + PERIOD).await;
        }
    }
}

async fn follow(client: Client, address: String, versions: watch::Sender<Versions>) -> Result<()> {
    let mut stream = client.get(address).send().await?.error_for_status()?;
    let mut text = String::new();
    while let Some(chunk) = stream.chunk().await? {
        text.push_str(std::str::from_utf8(&chunk)?);
        while let Some((event, rest)) = text.split_once("\n\n") {
            if let Some(data) = event.lines().find_map(|line| line.strip_prefix("data:")) {
                let data: Value = serde_json::from_str(data)?;
                let member = |name| data[name].as_str().unwrap_or_default().to_owned();
                versions.send_modify(|known| drop(known.insert(member("key"), member("version"))));
            }
            text = rest.to_owned();
        }
    }
    bail!("a stream of versions has ended")
}

/// Ids and keys of the fragments in a document.
fn fragments(html: &str) -> Vec<(String, String)> {
    let tags = html.split('<').filter_map(|tag| tag.split('>').next());
    tags.filter_map(|tag| Some((attribute(tag, "id")?, attribute(tag, "data-live")?)))
        .collect()
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, value) = tag.split_once(&format!(" {name}=\""))?;
    Some(value.split_once('"')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_elements_with_an_id_and_a_key() {
        let html = "<main id=\"main\"><section id=\"times\" class=\"a b\" data-live=\"causes\">\
                    <p data-live=\"x\">id=\"y\"</p></section><section id=\"z\" data-live=\"tasks\">";
        let expected = [("times", "causes"), ("z", "tasks")];
        let expected = expected.map(|(id, key)| (id.to_owned(), key.to_owned()));
        assert_eq!(fragments(html), expected);
    }
}
