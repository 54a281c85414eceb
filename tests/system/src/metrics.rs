//! Metrics of a process in the text format of Prometheus, and the documented table of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use reqwest::{Client, RequestBuilder};

/// The log line of a process that serves metrics.
const SERVING: &str = "serving metrics and health checks";

/// The values of one scrape.
#[derive(Debug, Clone, Default)]
pub struct Scrape {
    /// Names with a help text.
    pub helped: BTreeSet<String>,
    /// Types by name.
    pub types: BTreeMap<String, String>,
    /// Values by series, as they are written: `name{label="value"}`.
    pub series: BTreeMap<String, f64>,
}

impl Scrape {
    /// Reads an answer of `/metrics`.
    pub fn parse(text: &str) -> Self {
        let mut scrape = Self::default();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap_or((rest, ""));
                if !help.is_empty() {
                    scrape.helped.insert(name.to_owned());
                }
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                scrape.types.insert(name.to_owned(), kind.to_owned());
            } else if let Some((series, value)) = line.rsplit_once(' ') {
                let value = value.parse().unwrap();
                scrape.series.insert(series.to_owned(), value);
            }
        }
        scrape
    }

    /// The sum of all series of this name whose labels have each of these parts.
    pub fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        let of_name = self.series.iter().filter(|(series, _value)| {
            let rest = series.strip_prefix(name);
            let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with('{'));
            rest.is_some_and(|rest| labels.iter().all(|label| rest.contains(label)))
        });
        of_name.map(|(_series, value)| value).sum()
    }

    /// Names of its metrics.
    pub fn names(&self) -> BTreeSet<String> {
        self.types.keys().cloned().collect()
    }
}

/// The address at which a process with this output serves its metrics.
pub fn scrape_address(output: &str) -> Result<SocketAddr, String> {
    let newest = output.lines().rfind(|line| line.contains(SERVING));
    let newest = newest.ok_or_else(|| format!("no {SERVING:?}"))?;
    let (_, rest) = newest.split_once("address=").ok_or(newest)?;
    let address = rest.trim_matches('"').split([' ', '"']).next();
    let address = address.unwrap_or_default();
    address
        .parse()
        .map_err(|error| format!("{newest}: {error}"))
}

/// A request of `/metrics`.
pub fn scrape_request(address: SocketAddr) -> RequestBuilder {
    let client = Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(10))
        .build()
        .unwrap();
    client.get(format!("http://{address}/metrics"))
}

/// Scrapes a process.
pub async fn scrape(address: SocketAddr) -> Result<Scrape, String> {
    let answer = scrape_request(address).send().await;
    let answer = answer.map_err(|error| error.to_string())?;
    let (status, text) = (answer.status(), answer.text().await);
    match (status.as_u16(), text) {
        (200, Ok(text)) => Ok(Scrape::parse(&text)),
        (status, text) => Err(format!("{status} {text:?}")),
    }
}

/// A row of the tables of docs/telemetry.md#metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentedMetric {
    /// Its name for Prometheus.
    pub prometheus: String,
    /// Its name in OTLP.
    pub otlp: String,
    /// `gauge`, `counter` or `histogram`.
    pub kind: String,
    /// The processes that have it.
    pub from: BTreeSet<String>,
    /// Whether it may be missing.
    pub may_be_missing: bool,
}

impl DocumentedMetric {
    /// Whether a process of this service has it, which leads if it is a scheduler.
    pub fn is_of(&self, service: &str) -> bool {
        self.from.contains("all")
            || self.from.contains(service)
            || service == "scheduler" && self.from.contains("leader")
    }
}

/// All rows.
pub fn documented_metrics() -> Vec<DocumentedMetric> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/telemetry.md");
    let text = std::fs::read_to_string(path).unwrap();
    let unquoted = |cell: &str| cell.trim_matches('`').to_owned();
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
        let [prometheus, otlp, kind, _labels, from, meaning, ""] = cells[..] else {
            return None;
        };
        (prometheus.starts_with('`') && otlp.contains('.')).then(|| DocumentedMetric {
            prometheus: unquoted(prometheus),
            otlp: unquoted(otlp),
            kind: kind.to_owned(),
            from: from.split(", ").map(str::to_owned).collect(),
            may_be_missing: meaning.contains("missing"),
        })
    });
    rows.collect()
}
