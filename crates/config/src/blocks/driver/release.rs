//! Which engine runs, and where one that is missing comes from (docs/configuration.md#engine).

use std::path::{Path, PathBuf};

use cts_core::EngineKind;
use http::Uri;

use crate::blocks::driver::version::{ExactVersion, dotted};
use crate::decode::block::Block;
use crate::decode::path::clean;
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
pub(crate) fn decode_engine(block: &mut Block<'_>) -> EngineKind {
    let Some(Located { value, place }) = block.filled_text("engine") else {
        return EngineKind::default();
    };
    EngineKind::from_driver(&value).unwrap_or_else(|| {
        let message = format!("`engine` must be `terraform` or `opentofu`, not {value:?}");
        block.sink().error(&place, message);
        EngineKind::default()
    })
}

/// Reads `version`. A version that is newer than what cts is tested with is a warning.
pub(crate) fn decode_version(
    block: &mut Block<'_>,
    engine: EngineKind,
) -> Option<Located<ExactVersion>> {
    let Located { value, place } = block.filled_text("version")?;
    match ExactVersion::read(&value, engine) {
        Ok(version) => {
            if !version.is_tested(engine) {
                let message = format!(
                    "cts is not tested with {} {version}, which is newer than {}",
                    engine.title(),
                    dotted(&engine.newest_tested()),
                );
                block.sink().warning(&place, message);
            }
            Some(Located {
                value: version,
                place,
            })
        }
        Err(reason) => {
            block.sink().error(&place, reason.to_string());
            None
        }
    }
}

/// Reads `releases_url` and `release_keys`. The keys are read where something is installed.
pub(crate) fn decode_source(block: &mut Block<'_>, current_dir: &Path) -> ReleaseSource {
    let url = block.filled_text("releases_url");
    if let Some(url) = &url
        && let Some(reason) = unusable(&url.value)
    {
        let message = format!("`releases_url` {reason}");
        block.sink().error(&url.place, message);
    }
    let keys = block.items("release_keys").into_iter();
    ReleaseSource {
        url: url.map(|url| url.value.trim_end_matches('/').to_owned()),
        keys: keys
            .filter(|path| !path.value.is_empty())
            .map(|path| clean(&current_dir.join(path.value)))
            .collect(),
    }
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
