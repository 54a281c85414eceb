//! Which engine runs, and where one that is missing comes from (docs/configuration.md#engine).

use std::path::PathBuf;

use cts_core::EngineKind;
use http::Uri;

use crate::decode::block::Block;
use crate::dump_values::path;
use crate::keys::{Keys, unless_empty};
use crate::report::location::Located;

/// Where releases of the engine come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseSource {
    /// `releases_url`: where the files are, without a slash at the end; `None` for the vendor's site.
    pub url: Option<String>,
    /// `release_keys`: absolute paths of the public keys of which one must have signed the checksums; empty for the
    /// vendor's.
    pub keys: Vec<PathBuf>,
}

/// Reads `engine`.
pub(crate) fn decode_engine(
    block: &mut Block<'_>,
    name: &'static str,
) -> Option<Located<EngineKind>> {
    let written = block.filled_text(name)?;
    block.sink().checked(written, |engine| {
        let refusal = || format!("`engine` must be `terraform` or `opentofu`, not {engine:?}");
        EngineKind::from_driver(&engine).ok_or_else(refusal)
    })
}

impl Keys<'_, '_> {
    pub(super) fn releases(&mut self, _name: &'static str, releases: &mut ReleaseSource) {
        let url = &mut releases.url;
        self.optional("releases_url", url, decode_url, String::clone)
            .or_note("the site of the vendor");
        self.key("release_keys", &mut releases.keys, decode_keys, |keys| {
            unless_empty(keys, |key| path(key))
        });
    }
}

/// Reads `releases_url`.
fn decode_url(block: &mut Block<'_>, name: &'static str) -> Option<Located<String>> {
    let url = block.filled_text(name)?;
    if let Some(reason) = unusable(&url.value) {
        let message = format!("`releases_url` {reason}");
        block.sink().error(&url.place, message);
    }
    Some(url.map(|url| url.trim_end_matches('/').to_owned()))
}

/// Reads `release_keys`, the paths of the keys. The keys are read where something is installed.
fn decode_keys(block: &mut Block<'_>, name: &'static str) -> Option<Located<Vec<PathBuf>>> {
    let paths = block.list(name)?;
    Some(paths.map(|paths| {
        let paths = paths.into_iter().filter(|path| !path.value.is_empty());
        let paths = paths.map(|path| block.sink().absolute(path.value));
        paths.collect()
    }))
}

/// The error in the address of a release site. The address is shown in logs, so it must hold no password.
fn unusable(url: &str) -> Option<&'static str> {
    let Ok(parsed) = url.parse::<Uri>() else {
        return Some("is not a URL");
    };
    let authority = parsed.authority().map(http::uri::Authority::as_str);
    match (parsed.scheme_str(), authority) {
        (Some("http" | "https"), Some(authority)) if authority.contains('@') => {
            Some("must not have a user or password")
        }
        (Some("http" | "https"), Some(_)) if parsed.query().is_some() || url.contains('#') => {
            Some("must end with a path")
        }
        (Some("http" | "https"), Some(_)) => None,
        _ => Some("must begin with https:// or http://"),
    }
}
