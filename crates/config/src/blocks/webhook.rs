//! `webhook`, a cts-only block (docs/configuration.md#webhook).

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use cts_core::hidden::{HIDDEN, authority_end};
use secrecy::{ExposeSecret as _, SecretString};

use crate::blocks::client_tls::{ClientTls, EnabledBy, SuppliedTls, decode_client_tls};
use crate::decode::block::Block;
use crate::report::location::{Located, SourceLocation};

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT_LIMITS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_mins(1);
const DEFAULT_RETRIES: u32 = 3;
const RETRIES_LIMITS: RangeInclusive<u32> = 0..=8;

/// Characters of a name, which is part of a header.
const LONGEST_NAME: usize = 100;

/// A receiver that gets to know of successful applies.
#[derive(Debug, Clone)]
pub struct WebhookConfig {
    /// Its label, which tasks name.
    pub name: String,
    /// `url`, or a template of it. Its path may be a secret.
    pub url: SecretString,
    /// `secret` that messages are signed with, or a template of it.
    pub secret: Option<SecretString>,
    /// `timeout` of one request, 10 s by default.
    pub timeout: Duration,
    /// `retries` after a request that failed, 3 by default.
    pub retries: u32,
    /// `tls`.
    pub tls: ClientTls,
}

impl WebhookConfig {
    /// The values that no output may show.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        [Some(&self.url), self.secret.as_ref()]
            .into_iter()
            .flatten()
    }

    /// The URL without what may be secret in it.
    pub(crate) fn shown_url(&self) -> String {
        let url = self.url.expose_secret();
        let Some((scheme, rest)) = url.split_once("://").filter(|_| !url.contains("{{")) else {
            return format!("https://{HIDDEN}");
        };
        let (authority, path) = rest.split_at(authority_end(rest));
        let host = authority.rsplit('@').next().unwrap_or_default();
        let path = match path {
            "" | "/" => path.to_owned(),
            _ => format!("/{HIDDEN}"),
        };
        format!("{scheme}://{host}{path}")
    }
}

/// Reads the blocks in order; names are unique.
pub(crate) fn decode_webhooks(blocks: Vec<Block<'_>>) -> Vec<WebhookConfig> {
    let mut webhooks = Vec::new();
    let mut places = HashMap::<String, SourceLocation>::new();
    for block in blocks {
        let sink = block.sink();
        if block.is_empty() {
            block.missing("a `webhook` block needs a label, its name");
        }
        for entry in block.into_entries() {
            let name = entry.name();
            if entry.bodies().iter().any(Result::is_err) {
                let message = "a `webhook` block needs a label, its name";
                sink.error(&entry.key_place(), message);
                continue;
            }
            let place = entry.key_place();
            if let Some(first) = places.get(name) {
                sink.error_after(first, &place, format!("duplicate webhook {name:?}"));
            }
            if !is_name(name) {
                let message = format!(
                    "the name of a webhook has 1 to {LONGEST_NAME} letters, digits, `-`, `_` and `.`"
                );
                sink.error(&place, message);
            }
            let body = Block::of_entry(format!("webhook {name:?}"), &entry, sink);
            webhooks.extend(decode_webhook(name, body));
            places.insert(name.to_owned(), place);
        }
    }
    webhooks
}

fn decode_webhook(name: &str, mut block: Block<'_>) -> Option<WebhookConfig> {
    let url = block.required_text("url");
    let is_url = |url: &Located<String>| {
        let url = &url.value;
        let lower_case = url.to_ascii_lowercase();
        let rest = ["http://", "https://"].map(|scheme| lower_case.strip_prefix(scheme));
        let host = |rest: &str| authority_end(rest) > 0;
        url.contains("{{") || rest.into_iter().flatten().any(host)
    };
    if !url.as_ref().is_none_or(is_url) {
        block.missing(format!(
            "`url` of webhook {name:?} must be an http:// or https:// URL"
        ));
    }
    let secret = block.filled_text("secret").map(|secret| secret.value);
    let timeout = block.duration_within("timeout", &TIMEOUT_LIMITS);
    let retries = block.number_within("retries", &RETRIES_LIMITS);
    let tls = decode_client_tls(&mut block, EnabledBy::Default, SuppliedTls::default());
    block.finish();
    Some(WebhookConfig {
        name: name.to_owned(),
        url: SecretString::from(url?.value),
        secret: secret.map(SecretString::from),
        timeout: timeout.map_or(DEFAULT_TIMEOUT, |timeout| timeout.value),
        retries: retries.map_or(DEFAULT_RETRIES, |retries| retries.value),
        tls,
    })
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_part)
}
