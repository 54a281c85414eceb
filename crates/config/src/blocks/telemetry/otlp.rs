//! `telemetry.otlp`: the collector that a process exports to (docs/telemetry.md#otlp).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use secrecy::SecretString;

use crate::decode::block::Block;
use crate::decode::coerce;

const DEFAULT_INTERVAL: Duration = Duration::from_mins(1);
const INTERVAL_LIMITS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(1);

/// A collector that speaks OTLP over gRPC.
#[derive(Debug, Clone)]
pub struct OtlpConfig {
    /// `endpoint`: URL of `http` or `https` with a host, and without path or user name.
    pub endpoint: String,
    /// `signals`: metrics and traces by default.
    pub signals: OtlpSignals,
    /// `interval` between two exports of metrics, from 1 s to 1 h; a minute by default.
    pub interval: Duration,
    /// `headers` of each request, in small letters. The values may be secrets.
    pub headers: BTreeMap<String, SecretString>,
    /// `ca_cert`, absolute: PEM file of the authorities that may sign the collector's certificate; `None` for the
    /// authorities of the system.
    pub ca_cert: Option<PathBuf>,
}

/// The exported signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OtlpSignals {
    /// `metrics`.
    pub metrics: bool,
    /// `traces`.
    pub traces: bool,
    /// `logs`: the lines of the log.
    pub logs: bool,
}

impl OtlpSignals {
    /// The names of the exported signals, as they are written.
    pub(crate) fn names(self) -> Vec<String> {
        let all = [
            ("metrics", self.metrics),
            ("traces", self.traces),
            ("logs", self.logs),
        ];
        let named = all.into_iter().filter(|(_name, exported)| *exported);
        named.map(|(name, _exported)| name.to_owned()).collect()
    }
}

/// `None` if the block has no endpoint, which is reported.
pub(super) fn decode_otlp(mut block: Block<'_>, current_dir: &Path) -> Option<OtlpConfig> {
    let endpoint = decode_endpoint(&mut block);
    let signals = decode_signals(&mut block);
    let interval = block.duration_within("interval", &INTERVAL_LIMITS);
    let headers = decode_headers(&mut block);
    let ca_cert = block.path("ca_cert", current_dir);
    block.finish();
    Some(OtlpConfig {
        endpoint: endpoint?,
        signals,
        interval: interval.unwrap_or(DEFAULT_INTERVAL),
        headers,
        ca_cert,
    })
}

fn decode_endpoint(block: &mut Block<'_>) -> Option<String> {
    const KEY: &str = "endpoint";
    if !block.has(KEY) {
        block.required_text(KEY);
        return None;
    }
    let written = block.take(KEY, coerce::text)?;
    if let Err(reason) = check_endpoint(&written.value) {
        let message = format!("`{}` {reason}", block.path_of(KEY));
        block.sink().error(&written.place, message);
    }
    Some(written.value)
}

/// The reason quotes nothing of the text, which may have a password in it.
fn check_endpoint(text: &str) -> Result<(), &'static str> {
    const EXPECTED: &str =
        "is no URL such as \"http://127.0.0.1:4317\" or \"https://otlp.example\"";
    let uri: Uri = text.parse().map_err(|_unusable| EXPECTED)?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(EXPECTED);
    }
    if uri
        .authority()
        .is_none_or(|authority| authority.host().is_empty())
    {
        return Err(EXPECTED);
    }
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        return Err("must not hold a user name: put credentials into `headers`");
    }
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return Err("must end after the port: OTLP over gRPC has no paths");
    }
    Ok(())
}

fn decode_signals(block: &mut Block<'_>) -> OtlpSignals {
    const KEY: &str = "signals";
    if !block.has(KEY) {
        return OtlpSignals {
            metrics: true,
            traces: true,
            logs: false,
        };
    }
    let mut signals = OtlpSignals::default();
    for signal in block.items(KEY) {
        match signal.value.as_str() {
            "metrics" => signals.metrics = true,
            "traces" => signals.traces = true,
            "logs" => signals.logs = true,
            _ => {
                let message = format!(
                    "{} in `{}` is none of \"metrics\", \"traces\" and \"logs\"",
                    coerce::quoted(&signal.value),
                    block.path_of(KEY)
                );
                block.sink().error(&signal.place, message);
            }
        }
    }
    signals
}

fn decode_headers(block: &mut Block<'_>) -> BTreeMap<String, SecretString> {
    const KEY: &str = "headers";
    let mut headers = BTreeMap::new();
    for (name, value) in block.text_map(KEY) {
        let valid_name = HeaderName::try_from(name.as_str()).is_ok();
        if !valid_name || HeaderValue::try_from(value.value.as_str()).is_err() {
            let path = block.path_of(KEY);
            let message = format!("{} in `{path}` is no header", coerce::quoted(&name));
            block.sink().error(&value.place, message);
        }
        headers.insert(name.to_ascii_lowercase(), SecretString::from(value.value));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_url_without_path_and_user() {
        for good in [
            "http://127.0.0.1:4317",
            "https://otlp.example",
            "http://[::1]:4317/",
        ] {
            assert_eq!(check_endpoint(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "127.0.0.1:4317",
            "ftp://a",
            "http://",
            "http://u:p@a",
            "http://a/v1/traces",
        ] {
            assert!(check_endpoint(bad).is_err(), "{bad}");
        }
    }
}
