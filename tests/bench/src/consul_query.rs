//! A blocking query of the kind that cts asks, and nothing else: the floor under every time to react.

use std::time::Duration;

use anyhow::{Context as _, Result};
use reqwest::Client;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::measures::clock::Moment;

/// Asks for the instances of a service again and again over one connection.
#[derive(Debug)]
pub(crate) struct BareQuery {
    answers: mpsc::UnboundedReceiver<Result<Answer>>,
    /// Ends the asking when dropped.
    _asking: JoinSet<()>,
}

#[derive(Debug)]
struct Answer {
    /// When the last byte had come.
    at: Moment,
    body: String,
}

impl BareQuery {
    pub(crate) fn start(consul: &str, service: &str) -> Result<Self> {
        let client = Client::builder()
            .no_proxy()
            .tcp_nodelay(true)
            .read_timeout(Duration::from_mins(6))
            .build()
            .context("no HTTP client")?;
        let url = format!("http://{consul}/v1/health/service/{service}?passing=1");
        let (sender, answers) = mpsc::unbounded_channel();
        let mut asking = JoinSet::new();
        asking.spawn(async move {
            let mut index = String::new();
            loop {
                let answer = ask(&client, &url, &mut index).await;
                let failed = answer.is_err();
                if sender.send(answer).is_err() || failed {
                    return;
                }
            }
        });
        Ok(Self {
            answers,
            _asking: asking,
        })
    }

    /// When the first answer came that contains `text`.
    pub(crate) async fn answered_with(&mut self, text: &str) -> Result<Moment> {
        loop {
            let answer = self.answers.recv().await.context("the query has ended")??;
            if answer.body.contains(text) {
                return Ok(answer.at);
            }
        }
    }
}

async fn ask(client: &Client, url: &str, index: &mut String) -> Result<Answer> {
    let url = if index.is_empty() {
        url.to_owned()
    } else {
        format!("{url}&index={index}")
    };
    let response = client.get(url).send().await?.error_for_status()?;
    let header = response.headers().get("x-consul-index");
    let header = header.context("Consul's answer has no index")?;
    header.to_str()?.clone_into(index);
    let body = response.text().await?;
    Ok(Answer {
        at: Moment::now(),
        body,
    })
}
