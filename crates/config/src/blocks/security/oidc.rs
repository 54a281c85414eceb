//! `security.oidc`: issuers whose tokens are accepted (docs/access.md#oidc).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use cts_core::callers::Role;
use serde_json::{Map, Value};
use url::Url;

use crate::decode::block::{Block, filled_text};
use crate::keys::{Keyed, Keys, read};
use crate::report::location::Located;

const SKEW_LIMITS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_mins(10);

/// An issuer of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcConfig {
    /// `issuer`: its URL, as in its tokens.
    pub issuer: String,
    /// `audience`: a token must be for one of these.
    pub audience: Vec<String>,
    /// `name_claim` that names the user; `sub` by default.
    pub name_claim: String,
    /// `role_claim`: a text or a list of texts, or a path with dots to it; `roles` by default.
    pub role_claim: String,
    /// `roles`: values of that claim, and the role that each gives.
    pub roles: BTreeMap<String, Role>,
    /// `clock_skew` that is allowed; a minute by default.
    pub clock_skew: Duration,
    /// `ca_cert`, absolute: authorities of the issuer's certificate; `None` for those of the system.
    pub ca_cert: Option<PathBuf>,
}

impl Default for OidcConfig {
    fn default() -> Self {
        Self {
            issuer: String::new(),
            audience: Vec::new(),
            name_claim: "sub".to_owned(),
            role_claim: "roles".to_owned(),
            roles: BTreeMap::new(),
            clock_skew: Duration::from_mins(1),
            ca_cert: None,
        }
    }
}

impl Keyed for OidcConfig {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.text_of("issuer", &mut self.issuer, decode_issuer);
        keys.key("audience", &mut self.audience, decode_audience, |names| {
            Some(names.clone())
        });
        keys.text_of("name_claim", &mut self.name_claim, filled_text);
        keys.text_of("role_claim", &mut self.role_claim, filled_text);
        keys.key("roles", &mut self.roles, decode_roles, |roles| {
            let roles = roles.iter();
            let roles = roles.map(|(value, role)| (value.clone(), role.as_str().into()));
            Some(roles.collect::<Map<String, Value>>())
        });
        keys.duration("clock_skew", &mut self.clock_skew, &SKEW_LIMITS);
        keys.path("ca_cert", &mut self.ca_cert);
    }
}

pub(crate) fn decode_issuers(blocks: Vec<Block<'_>>) -> Vec<OidcConfig> {
    let mut issuers: Vec<OidcConfig> = Vec::new();
    for block in blocks {
        let (sink, place) = (block.sink(), block.place().cloned());
        let issuer = read(OidcConfig::default(), block);
        if issuer.issuer.is_empty() {
            continue;
        }
        let mut others = issuers.iter();
        if let Some(place) = place
            && others.any(|other| other.issuer == issuer.issuer)
        {
            let message = format!("more than one `oidc` block for {:?}", issuer.issuer);
            sink.error(&place, message);
        }
        issuers.push(issuer);
    }
    issuers
}

fn decode_issuer(block: &mut Block<'_>, name: &'static str) -> Option<Located<String>> {
    let issuer = block.filled_text(name);
    let Some(written) = &issuer else {
        block.missing("an `oidc` block needs `issuer`, the URL of the issuer");
        return None;
    };
    if !is_issuer(&written.value) {
        let problem = "is no URL of an issuer: it begins with https:// (http:// only for this machine) and has no query";
        block.refuse(name, written, problem);
    }
    issuer
}

fn decode_audience(block: &mut Block<'_>, name: &'static str) -> Option<Located<Vec<String>>> {
    let list = block.list(name);
    let mut audience = list.iter().flat_map(|list| &list.value).peekable();
    if audience.peek().is_none() {
        block.missing("an `oidc` block needs `audience`: tokens for others must not be accepted");
    }
    if let Some(empty) = audience.find(|audience| audience.value.is_empty()) {
        let message = "`audience` of an `oidc` block has an empty text";
        block.sink().error(&empty.place, message);
    }
    Some(list?.map(|texts| texts.into_iter().map(|text| text.value).collect()))
}

fn decode_roles(
    block: &mut Block<'_>,
    name: &'static str,
) -> Option<Located<BTreeMap<String, Role>>> {
    let written = block.text_map(name);
    if written.as_ref().is_none_or(|roles| roles.value.is_empty()) {
        block.missing("an `oidc` block needs `roles`: values of the claim and the role of each");
    }
    let read = |(value, role): (String, Located<String>)| {
        let role = block.sink().checked(role, |role| role.parse::<Role>())?;
        Some((value, role.value))
    };
    Some(written?.map(|roles| roles.into_iter().filter_map(read).collect()))
}

/// Keys must not be read over a network in plain text.
fn is_issuer(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else {
        return false;
    };
    let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_local);
    let has_user = !url.username().is_empty() || url.password().is_some();
    is_safe && !has_user && url.query().is_none() && url.fragment().is_none()
}
