//! `webhook`, a cts-only block (docs/configuration.md#webhook).

use std::collections::HashMap;
use std::time::Duration;

use cts_core::hidden::{HIDDEN, authority_end};
use secrecy::{ExposeSecret as _, SecretString};

use crate::blocks::client_tls::{ClientTls, EnabledBy};
use crate::decode::block::Block;
use crate::keys::read_keys;
use crate::report::location::{Located, SourceLocation};
use crate::settings::settings;

/// Characters of a name, which is part of a header.
const LONGEST_NAME: usize = 100;

settings! {
    /// A receiver that gets to know of successful applies.
    #[derive(Debug, Clone)]
    pub struct WebhookConfig {
        /// Its label, which tasks name.
        pub name: String = String::new() => without_key,
        /// `url`, or a template of it. Its path may be a secret, so a dump shows only the host.
        pub url: SecretString = SecretString::default()
            => key(decode_url, |url| Some(shown_url(url))),
        /// `secret` that messages are signed with, or a template of it.
        pub secret: Option<SecretString> = None => optional_secret,
        /// `timeout` of one request, 10 s by default.
        pub timeout: Duration = Duration::from_secs(10)
            => duration(&(Duration::from_secs(1)..=Duration::from_mins(1))),
        /// `retries` after a request that failed, 3 by default.
        pub retries: u32 = 3 => number(&(0..=8)),
        /// `tls`.
        pub tls: ClientTls = ClientTls::default() => client_tls(EnabledBy::Default),
    }
}

impl WebhookConfig {
    /// The values that no output may show.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        [Some(&self.url), self.secret.as_ref()]
            .into_iter()
            .flatten()
    }
}

/// The URL without what may be secret in it.
fn shown_url(url: &SecretString) -> String {
    let url = url.expose_secret();
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
    let mut webhook = WebhookConfig {
        name: name.to_owned(),
        ..WebhookConfig::default()
    };
    let written = read_keys(&mut webhook, &mut block);
    block.finish();
    written.has("url").then_some(webhook)
}

fn decode_url(block: &mut Block<'_>, name: &'static str) -> Option<Located<SecretString>> {
    let url = block.required_text(name)?;
    let lower_case = url.value.to_ascii_lowercase();
    let rest = ["http://", "https://"].map(|scheme| lower_case.strip_prefix(scheme));
    let has_host = |rest: &str| authority_end(rest) > 0;
    if !url.value.contains("{{") && !rest.into_iter().flatten().any(has_host) {
        block.missing(format!(
            "`url` of {} must be an http:// or https:// URL",
            block.name()
        ));
    }
    Some(url.map(SecretString::from))
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_part)
}
