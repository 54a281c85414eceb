//! `security.oidc`: issuers whose tokens are accepted (docs/access.md#oidc).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cts_core::access::Role;
use url::Url;

use crate::decode::block::Block;
use crate::decode::coerce;

const DEFAULT_SKEW: Duration = Duration::from_mins(1);
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

pub(crate) fn decode_issuers(blocks: Vec<Block<'_>>, current_dir: &Path) -> Vec<OidcConfig> {
    let mut issuers: Vec<OidcConfig> = Vec::new();
    for block in blocks {
        let (sink, place) = (block.sink(), block.place().cloned());
        let Some(issuer) = decode_issuer(block, current_dir) else {
            continue;
        };
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

fn decode_issuer(mut block: Block<'_>, current_dir: &Path) -> Option<OidcConfig> {
    let issuer = block.filled_text("issuer");
    if issuer.is_none() {
        block.missing("an `oidc` block needs `issuer`, the URL of the issuer");
    }
    if let Some(issuer) = &issuer
        && !is_issuer(&issuer.value)
    {
        let message = format!(
            "{} in `{}` is no URL of an issuer: it begins with https:// (http:// only for this machine) and has no query",
            coerce::quoted(&issuer.value),
            block.path_of("issuer")
        );
        block.sink().error(&issuer.place, message);
    }
    let audience = block.items("audience");
    if let Some(empty) = audience.iter().find(|audience| audience.value.is_empty()) {
        let message = "`audience` of an `oidc` block has an empty text";
        block.sink().error(&empty.place, message);
    }
    if audience.is_empty() {
        block.missing("an `oidc` block needs `audience`: tokens for others must not be accepted");
    }
    let written = block.text_map("roles");
    if written.is_empty() {
        block.missing("an `oidc` block needs `roles`: values of the claim and the role of each");
    }
    let mut roles = BTreeMap::new();
    for (value, role) in written {
        match role.value.parse::<Role>() {
            Ok(role) => {
                roles.insert(value, role);
            }
            Err(error) => block.sink().error(&role.place, error.to_string()),
        }
    }
    let mut text = |name: &'static str, default: &str| {
        let written = block.filled_text(name);
        written.map_or_else(|| default.to_owned(), |text| text.value)
    };
    let name_claim = text("name_claim", "sub");
    let role_claim = text("role_claim", "roles");
    let clock_skew = block.duration_within("clock_skew", &SKEW_LIMITS);
    let ca_cert = block.path("ca_cert", current_dir);
    block.finish();
    Some(OidcConfig {
        issuer: issuer?.value,
        audience: audience
            .into_iter()
            .map(|audience| audience.value)
            .collect(),
        name_claim,
        role_claim,
        roles,
        clock_skew: clock_skew.unwrap_or(DEFAULT_SKEW),
        ca_cert,
    })
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
