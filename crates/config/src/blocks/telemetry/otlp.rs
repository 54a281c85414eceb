//! `telemetry.otlp`: the collector that a process exports to (docs/telemetry.md#otlp).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use cts_core::hidden::HIDDEN;
use http::{HeaderName, HeaderValue, Uri};
use secrecy::SecretString;
use serde_json::Map;

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::dump_body::Body;
use crate::report::location::Located;
use crate::settings::settings;

settings! {
    /// A collector that speaks OTLP over gRPC.
    #[derive(Debug, Clone)]
    pub struct OtlpConfig {
        /// `endpoint`: URL of `http` or `https` with a host, and without path or user name.
        pub endpoint: String = String::new() => text_of(decode_endpoint),
        /// `signals`: metrics and traces by default.
        pub signals: OtlpSignals = OtlpSignals::default()
            => key(decode_signals, |signals| Some(signals.names())),
        /// `interval` between two exports of metrics, from 1 s to 1 h; a minute by default.
        pub interval: Duration = Duration::from_mins(1)
            => duration(&(Duration::from_secs(1)..=Duration::from_hours(1))),
        /// `headers` of each request, in small letters. The values may be secrets.
        pub headers: BTreeMap<String, SecretString> = BTreeMap::new()
            => block_of(decode_headers, dumped_headers),
        /// `ca_cert`, absolute: PEM file of the authorities that may sign the collector's certificate; `None` for the
        /// authorities of the system.
        pub ca_cert: Option<PathBuf> = None => path,
    }
}

/// The exported signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtlpSignals {
    /// `metrics`.
    pub metrics: bool,
    /// `traces`.
    pub traces: bool,
    /// `logs`: the lines of the log.
    pub logs: bool,
}

impl Default for OtlpSignals {
    fn default() -> Self {
        Self {
            metrics: true,
            traces: true,
            logs: false,
        }
    }
}

impl OtlpSignals {
    /// The names of the exported signals, as they are written.
    fn names(self) -> Vec<String> {
        let all = [
            ("metrics", self.metrics),
            ("traces", self.traces),
            ("logs", self.logs),
        ];
        let named = all.into_iter().filter(|(_name, exported)| *exported);
        named.map(|(name, _exported)| name.to_owned()).collect()
    }
}

fn decode_endpoint(block: &mut Block<'_>, name: &'static str) -> Option<Located<String>> {
    if !block.has(name) {
        block.required_text(name);
        return None;
    }
    let written = block.take(name, coerce::text)?;
    if let Err(reason) = check_endpoint(&written.value) {
        let message = format!("`{}` {reason}", block.path_of(name));
        block.sink().error(&written.place, message);
    }
    Some(written)
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

fn decode_signals(block: &mut Block<'_>, name: &'static str) -> Option<Located<OtlpSignals>> {
    let written = block.checked_list(name, |signal| match signal {
        "metrics" | "traces" | "logs" => Ok(signal.to_owned()),
        _ => Err("is none of \"metrics\", \"traces\" and \"logs\"".to_owned()),
    })?;
    Some(written.map(|names| {
        let has = |name: &str| names.iter().any(|other| other == name);
        OtlpSignals {
            metrics: has("metrics"),
            traces: has("traces"),
            logs: has("logs"),
        }
    }))
}

fn decode_headers(block: &mut Block<'_>, name: &'static str) -> BTreeMap<String, SecretString> {
    let mut headers = BTreeMap::new();
    let written = block.text_map(name).map(|headers| headers.value);
    for (header, value) in written.unwrap_or_default() {
        let valid_name = HeaderName::try_from(header.as_str()).is_ok();
        if !valid_name || HeaderValue::try_from(value.value.as_str()).is_err() {
            let path = block.path_of(name);
            let message = format!("{} in `{path}` is no header", coerce::quoted(&header));
            block.sink().error(&value.place, message);
        }
        headers.insert(header.to_ascii_lowercase(), SecretString::from(value.value));
    }
    headers
}

/// The names without the values.
fn dumped_headers(headers: &BTreeMap<String, SecretString>) -> Option<Body> {
    let names = headers.keys().cloned();
    let members = names.map(|name| (name, HIDDEN.into()));
    (!headers.is_empty()).then(|| members.collect::<Map<_, _>>().into())
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
