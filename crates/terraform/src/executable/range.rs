//! Supported versions of an engine, and tested versions.

use cts_core::EngineKind;
use semver::{BuildMetadata, Version};

/// Versions of Terraform that cts is tested with; pre-releases are not.
pub const SUPPORTED_RANGE: &str = ">= 0.13.0, <= 1.14.3";

/// Whether a version can be used: it is neither a pre-release nor too old. Build metadata does not matter.
pub fn is_supported(engine: EngineKind, version: &Version) -> bool {
    version.pre.is_empty() && plain(version) >= of(engine.oldest())
}

/// Whether cts is tested with this supported version.
pub fn is_tested(engine: EngineKind, version: &Version) -> bool {
    plain(version) <= of(engine.newest_tested())
}

/// `required_version` of root modules that a version of the engine reads. Only tested versions of Terraform
/// get an upper bound, as they always have.
pub fn required_version(engine: EngineKind, version: &Version) -> String {
    if engine == EngineKind::Terraform && is_tested(engine, version) {
        SUPPORTED_RANGE.to_owned()
    } else {
        supported(engine)
    }
}

/// The supported versions, as a constraint.
pub(super) fn supported(engine: EngineKind) -> String {
    format!(">= {}", of(engine.oldest()))
}

fn of([major, minor, patch]: [u64; 3]) -> Version {
    Version::new(major, minor, patch)
}

fn plain(version: &Version) -> Version {
    Version {
        build: BuildMetadata::EMPTY,
        ..version.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERRAFORM: EngineKind = EngineKind::Terraform;
    const OPEN_TOFU: EngineKind = EngineKind::OpenTofu;

    #[test]
    fn old_versions_and_pre_releases_are_refused_and_new_ones_untested() {
        for (engine, text, supported, tested) in [
            (TERRAFORM, "0.12.31", false, true),
            (TERRAFORM, "0.13.0", true, true),
            (TERRAFORM, "1.11.4", true, true),
            (TERRAFORM, "1.14.3", true, true),
            (TERRAFORM, "1.14.3+ent", true, true),
            (TERRAFORM, "1.14.4", true, false),
            (TERRAFORM, "1.14.0-rc1", false, true),
            (TERRAFORM, "2.0.0", true, false),
            (OPEN_TOFU, "1.5.7", false, true),
            (OPEN_TOFU, "1.6.0", true, true),
            (OPEN_TOFU, "1.6.0-rc1", false, true),
            (OPEN_TOFU, "9.0.0", true, false),
        ] {
            let version = text.parse().unwrap();
            assert_eq!(is_supported(engine, &version), supported, "{text}");
            assert_eq!(is_tested(engine, &version), tested, "{text}");
        }
    }

    #[test]
    fn root_modules_have_the_text_of_the_original_where_it_knows_the_version() {
        for (engine, version, text) in [
            (TERRAFORM, "0.13.0", ">= 0.13.0, <= 1.14.3"),
            (TERRAFORM, "1.14.3", ">= 0.13.0, <= 1.14.3"),
            (TERRAFORM, "1.14.4", ">= 0.13.0"),
            (OPEN_TOFU, "1.10.6", ">= 1.6.0"),
        ] {
            let version = version.parse().unwrap();
            assert_eq!(required_version(engine, &version), text, "{version}");
        }
        let [oldest, newest] = [TERRAFORM.oldest(), TERRAFORM.newest_tested()].map(of);
        assert_eq!(SUPPORTED_RANGE, format!(">= {oldest}, <= {newest}"));
    }
}
