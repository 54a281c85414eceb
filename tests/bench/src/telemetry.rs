//! Telemetry of the measured processes (docs/telemetry.md): each is scraped, and exports metrics and traces.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use cts_testkit::{Collector, free_port};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::process::Launch;

/// Interval between two scrapes of a process; Prometheus has 15 s by default.
const SCRAPE_INTERVAL: Duration = Duration::from_secs(5);

/// A collector, and a scraper for each process. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct Telemetry {
    collector: Collector,
    client: reqwest::Client,
    scrapers: JoinSet<()>,
}

impl Telemetry {
    pub(crate) async fn start() -> Result<Self> {
        Ok(Self {
            collector: Collector::start().await,
            client: reqwest::Client::builder().no_proxy().build()?,
            scrapers: JoinSet::new(),
        })
    }

    /// Configures a process in the directory `site`, and scrapes it from then on, whenever it runs.
    pub(crate) fn observe(&mut self, site: &Path, launch: &Launch) -> Result<Launch> {
        let file = format!("telemetry-{}.hcl", launch.name);
        let port = free_port();
        let text = format!(
            "telemetry {{\n  listen = \"127.0.0.1:{port}\"\n  otlp {{\n    endpoint = \"{}\"\n    interval = \"5s\"\n  }}\n}}\n",
            self.collector.url()
        );
        fs::write(site.join(&file), text)?;
        let mut observed = launch.clone();
        observed.arguments.push(format!("-config-file={file}"));
        let (client, url) = (
            self.client.clone(),
            format!("http://127.0.0.1:{port}/metrics"),
        );
        self.scrapers.spawn(async move {
            loop {
                sleep(SCRAPE_INTERVAL).await;
                if let Ok(answer) = client.get(&url).send().await {
                    drop(answer.bytes().await);
                }
            }
        });
        Ok(observed)
    }
}
