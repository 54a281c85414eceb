//! `security.oidc`: issuers whose tokens are accepted (docs/access.md#oidc).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use cts_core::callers::Role;
use serde_json::{Map, Value};
use url::Url;

use crate::decode::block::{Block, filled_text};
use crate::keys::{Keys, dumped, read};
use crate::report::location::Located;
use crate::settings::settings;

settings! {
    /// An issuer of tokens.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct OidcConfig {
        /// `issuer`: its URL, as in its tokens.
        pub issuer: String = String::new() => text_of(decode_issuer),
        /// `audience`: a token must be for one of these.
        pub audience: Vec<String> = Vec::new()
            => key(decode_audience, |names| Some(names.clone())),
        /// `name_claim` that names the user; `sub` by default.
        pub name_claim: String = "sub".to_owned() => text_of(filled_text),
        /// `role_claim`: a text or a list of texts, or a path with dots to it; `roles` by default.
        pub role_claim: String = "roles".to_owned() => text_of(filled_text),
        /// `roles`: values of that claim, and the role that each gives.
        pub roles: BTreeMap<String, Role> = BTreeMap::new()
            => key(decode_roles, |roles| Some(dumped_roles(roles))),
        /// `clock_skew` that is allowed; a minute by default.
        pub clock_skew: Duration = Duration::from_mins(1)
            => duration(&(Duration::ZERO..=Duration::from_mins(10))),
        /// `ca_cert`, absolute: authorities of the issuer's certificate; `None` for those of the system.
        pub ca_cert: Option<PathBuf> = None => path,
    }
}

impl Keys<'_, '_> {
    /// The blocks of all issuers.
    pub(crate) fn issuers(&mut self, name: &'static str, issuers: &mut Vec<OidcConfig>) {
        match self {
            Self::Read { block, .. } => *issuers = decode_issuers(block.repeated(name)),
            Self::Dump(body) => {
                for issuer in issuers {
                    body.repeated(name, None, dumped(issuer));
                }
            }
        }
    }
}

fn decode_issuers(blocks: Vec<Block<'_>>) -> Vec<OidcConfig> {
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

fn dumped_roles(roles: &BTreeMap<String, Role>) -> Map<String, Value> {
    let roles = roles.iter();
    let roles = roles.map(|(value, role)| (value.clone(), role.as_str().into()));
    roles.collect()
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
