//! The Terraform version of a workspace (docs/hcp-terraform.md#the-version-of-terraform).

use cts_core::EngineKind;
use cts_terraform::{is_supported, is_tested};
use semver::Version;

const ENGINE: EngineKind = EngineKind::Terraform;

/// A workspace has a version that cts does not support, and keeps it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the workspace has Terraform {version}, and cts supports {} to {}: set `terraform_version`{} in `terraform_cloud_workspace`",
    plain(ENGINE.oldest()),
    plain(ENGINE.newest_tested()),
    .raised_to.as_ref().map(|raised| format!(", or `auto_upgrade_tf_version = true`, which sets {raised},")).unwrap_or_default()
)]
pub(crate) struct UnsupportedVersion {
    version: Version,
    /// The nearest supported version, unless it is older.
    raised_to: Option<Version>,
}

/// The version that a workspace has to be changed to; `None` if the workspace keeps its own version. `configured` is
/// the version that the task names, and `may_change` whether an unsupported version is replaced by the nearest
/// supported version. A pre-release of a version that is not supported yet is never replaced: older versions may be
/// unable to read its state.
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
    if is_supported(ENGINE, &version) && is_tested(ENGINE, &version) {
        return Ok(None);
    }
    let release = Version::new(version.major, version.minor, version.patch);
    let nearest = release.clamp(plain(ENGINE.oldest()), plain(ENGINE.newest_tested()));
    let is_older = nearest < version;
    if may_change && (version.pre.is_empty() || !is_older) {
        return Ok(Some(nearest.to_string()));
    }
    Err(UnsupportedVersion {
        version,
        raised_to: (!is_older).then_some(nearest),
    })
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
            (None, "0.12.0-beta1", Some("0.13.0")),
            (None, "0.13.0-rc1", Some("0.13.0")),
            (None, "1.14.0-rc1", Some("1.14.0")),
            (None, "1.14.3-alpha20260101", Some("1.14.3")),
            (Some("1.15.0-beta2"), "1.14.3", Some("1.15.0-beta2")),
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
    fn no_pre_release_is_replaced_by_an_older_version() {
        for (may_change, current) in [
            (true, "1.14.4-rc1"),
            (true, "1.15.0-beta2"),
            (false, "2.0.0-alpha1"),
        ] {
            let refused = version_to_set(None, may_change, current).unwrap_err();
            let text = refused.to_string();
            assert!(
                text.contains(current) && text.contains("0.13.0 to 1.14.3"),
                "{text}"
            );
            assert!(!text.contains("auto_upgrade_tf_version"), "{text}");
        }
    }

    #[test]
    fn the_advice_to_change_a_version_is_given_only_where_that_raises_it() {
        let text = |current| {
            let refused = version_to_set(None, false, current).unwrap_err();
            refused.to_string()
        };
        for (current, raised) in [("0.12.31", "sets 0.13.0"), ("1.14.0-rc1", "sets 1.14.0")] {
            assert!(text(current).contains(raised), "{}", text(current));
        }
        assert!(!text("2.0.0").contains("auto_upgrade_tf_version"));
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
