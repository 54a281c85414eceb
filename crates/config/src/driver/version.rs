//! The Terraform version (docs/configuration.md#driver-terraform).

const OLDEST: [u64; 3] = [0, 13, 0];
const NEWEST: [u64; 3] = [1, 14, 3];

/// A text is no usable Terraform version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VersionError {
    #[error("malformed version {0:?}: `version` must be an exact Terraform version")]
    Malformed(String),
    #[error("`version` must be exact, with all three parts, not {0:?}")]
    Inexact(String),
    #[error("Terraform version {0:?} is outside the supported range >= 0.13.0, <= 1.14.3")]
    OutsideRange(String),
}

/// Checks an exact version: `v` in front and more than three parts are allowed, build metadata too;
/// a pre-release is outside the range.
pub(crate) fn check_version(text: &str) -> Result<(), VersionError> {
    let malformed = || VersionError::Malformed(text.to_owned());
    let version = text.strip_prefix('v').unwrap_or(text);
    let (version, metadata) = match version.split_once('+') {
        Some((version, metadata)) => (version, Some(metadata)),
        None => (version, None),
    };
    if metadata.is_some_and(|metadata| !is_suffix(metadata)) {
        return Err(malformed());
    }
    let end = version
        .find(|c: char| c != '.' && !c.is_ascii_digit())
        .unwrap_or(version.len());
    let (numbers, prerelease) = version.split_at(end);
    let prerelease = prerelease.strip_prefix('-').unwrap_or(prerelease);
    if version.ends_with('-') || !(prerelease.is_empty() || is_suffix(prerelease)) {
        return Err(malformed());
    }
    let mut parts = Vec::new();
    for part in numbers.split('.') {
        parts.push(part.parse::<u64>().map_err(|_no_number| malformed())?);
    }
    if parts.len() < 3 {
        return Err(VersionError::Inexact(text.to_owned()));
    }
    while parts.len() > 3 && parts.last() == Some(&0) {
        parts.pop();
    }
    let inside = parts.as_slice() >= OLDEST.as_slice() && parts.as_slice() <= NEWEST.as_slice();
    if !inside || !prerelease.is_empty() {
        return Err(VersionError::OutsideRange(text.to_owned()));
    }
    Ok(())
}

/// Whether a version that has been checked lies before `first`.
pub(crate) fn is_before(text: &str, first: &[u64]) -> bool {
    let numbers = text.strip_prefix('v').unwrap_or(text).split(['+', '-']);
    let numbers = numbers.take(1).flat_map(|numbers| numbers.split('.'));
    let numbers: Result<Vec<u64>, _> = numbers.map(str::parse).collect();
    numbers.is_ok_and(|numbers| numbers.as_slice() < first)
}

fn is_suffix(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'~'))
    };
    text.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_versions_in_the_range_are_accepted() {
        for version in [
            "0.13.0",
            "1.14.3",
            "v1.9.8",
            "1.14.3+ent",
            "1.9.8.0",
            "1.9.8.7",
            "01.09.08",
            "1.14.3.0",
        ] {
            assert_eq!(check_version(version), Ok(()), "{version}");
        }
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let first = [0, 14, 0];
        for (version, expected) in [
            ("0.13.7", true),
            ("v0.13.0+ent", true),
            ("0.14.0", false),
            ("00.14.0.1", false),
            ("1.2.0", false),
            ("latest", false),
        ] {
            assert_eq!(is_before(version, &first), expected, "{version}");
        }
    }

    #[test]
    fn other_versions_are_refused_with_the_reason() {
        let malformed = |text: &str| VersionError::Malformed(text.into());
        for text in [
            "~> 1.0",
            "latest",
            "1..2",
            "1.9.8-",
            "1.9.8+",
            " 1.9.8",
            "",
            "1.9.99999999999999999999",
        ] {
            assert_eq!(check_version(text), Err(malformed(text)), "{text}");
        }
        for text in ["1.5", "1", "v1.5"] {
            assert_eq!(check_version(text), Err(VersionError::Inexact(text.into())));
        }
        for text in [
            "0.12.31",
            "1.14.4",
            "1.14.3.1",
            "2.0.0",
            "1.9.0-beta1",
            "1.14.3-rc.1",
            "1.9.8alpha",
        ] {
            assert_eq!(
                check_version(text),
                Err(VersionError::OutsideRange(text.into()))
            );
        }
    }
}
