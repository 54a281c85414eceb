//! The Terraform version of a workspace (docs/hcp-terraform.md#the-version-of-terraform).

use cts_core::EngineKind;
use cts_terraform::{is_supported, is_tested};
use semver::Version;

const ENGINE: EngineKind = EngineKind::Terraform;

/// A workspace has a version that cts does not support, and is to keep it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the workspace has Terraform {version}, and cts supports {} to {}: set `terraform_version`, or `auto_upgrade_tf_version = true`, in `terraform_cloud_workspace`",
    plain(ENGINE.oldest()),
    plain(ENGINE.newest_tested())
)]
pub(crate) struct UnsupportedVersion {
    version: Version,
}

/// The version that a workspace has to be changed to; `None` if it keeps its own. `configured` is one that the
/// task names, and `may_change` whether a version that is not supported is replaced by the nearest that is.
///
/// A workspace may have a constraint, or `latest`, in place of a version. Its server decides then, and each run
/// checks the version itself.
pub(crate) fn version_to_set(
    configured: Option<&str>,
    may_change: bool,
    current: &str,
) -> Result<Option<String>, UnsupportedVersion> {
    if let Some(configured) = configured {
        return Ok((configured != current).then(|| configured.to_owned()));
    }
    let Ok(version) = current.parse::<Version>() else {
        return Ok(None);
    };
    let nearest = if !is_supported(ENGINE, &version) {
        ENGINE.oldest()
    } else if !is_tested(ENGINE, &version) {
        ENGINE.newest_tested()
    } else {
        return Ok(None);
    };
    if may_change {
        Ok(Some(plain(nearest).to_string()))
    } else {
        Err(UnsupportedVersion { version })
    }
}

/// The version that the files of a root module are written for.
pub(crate) fn version_of_files(current: &str) -> Version {
    let exact = current.parse::<Version>();
    let of_constraint = || {
        let digits = current.trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.parse::<Version>()
    };
    let known = exact.or_else(|_not_exact| of_constraint());
    known.unwrap_or_else(|_any| plain(ENGINE.newest_tested()))
}

fn plain([major, minor, patch]: [u64; 3]) -> Version {
    Version::new(major, minor, patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_set_if_it_is_configured_or_not_supported() {
        let set = |configured, current| version_to_set(configured, true, current).unwrap();
        for (configured, current, expected) in [
            (None, "1.9.8", None),
            (Some("1.9.8"), "1.9.8", None),
            (Some("1.9.7"), "1.9.8", Some("1.9.7")),
            (Some("1.9.7"), "latest", Some("1.9.7")),
            (None, "0.12.31", Some("0.13.0")),
            (None, "1.14.4", Some("1.14.3")),
            (None, "2.0.0", Some("1.14.3")),
            (None, "latest", None),
            (None, "~> 1.9.0", None),
        ] {
            assert_eq!(set(configured, current).as_deref(), expected, "{current}");
        }
    }

    #[test]
    fn a_version_that_may_not_be_changed_is_an_error() {
        let refused = version_to_set(None, false, "2.0.0").unwrap_err();
        let text = refused.to_string();
        assert!(
            text.contains("Terraform 2.0.0, and cts supports 0.13.0 to 1.14.3"),
            "{text}"
        );
        assert_eq!(version_to_set(None, false, "1.9.8"), Ok(None));
    }

    #[test]
    fn files_are_written_for_the_version_of_the_workspace() {
        for (current, expected) in [
            ("1.9.8", "1.9.8"),
            ("~> 1.9.0", "1.9.0"),
            ("latest", "1.14.3"),
            ("", "1.14.3"),
        ] {
            assert_eq!(version_of_files(current).to_string(), expected, "{current}");
        }
    }
}
