//! Versions of Terraform and OpenTofu (docs/configuration.md#driver-terraform).

use std::fmt;

use cts_core::EngineKind;

/// An exact version, written as the engine writes its own: no `v`, no zeros in front, three numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExactVersion {
    numbers: Vec<u64>,
    metadata: Option<String>,
}

/// Why a text is not a usable version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VersionError {
    #[error("Malformed version {text:?}: `version` must be an exact {} version", engine.title())]
    Malformed { text: String, engine: EngineKind },
    #[error("provide the exact {} version: {text:?} does not have all three parts", engine.title())]
    Inexact { text: String, engine: EngineKind },
    #[error("{} version is not supported: {text:?} is outside the supported range {range}", engine.title())]
    OutsideRange {
        text: String,
        engine: EngineKind,
        range: String,
    },
}

impl ExactVersion {
    /// Reads an exact version: `v` in front and more than three parts are allowed, build metadata too.
    /// A version below the oldest supported version, and a pre-release, are refused.
    pub(crate) fn read(text: &str, engine: EngineKind) -> Result<Self, VersionError> {
        let malformed = || VersionError::Malformed {
            text: text.to_owned(),
            engine,
        };
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
            return Err(VersionError::Inexact {
                text: text.to_owned(),
                engine,
            });
        }
        while parts.len() > 3 && parts.last() == Some(&0) {
            parts.pop();
        }
        if parts.as_slice() < engine.oldest().as_slice() || !prerelease.is_empty() {
            let range = format!(">= {}", dotted(&engine.oldest()));
            return Err(outside(text, engine, range));
        }
        Ok(Self {
            numbers: parts,
            metadata: metadata.map(str::to_owned),
        })
    }

    /// Reads the text as a version that must be tested.
    pub(crate) fn read_tested(text: &str, engine: EngineKind) -> Result<Self, VersionError> {
        let range = || {
            let (oldest, newest) = (engine.oldest(), engine.newest_tested());
            format!(">= {}, <= {}", dotted(&oldest), dotted(&newest))
        };
        match Self::read(text, engine) {
            Ok(version) if version.is_tested(engine) => Ok(version),
            Ok(_) | Err(VersionError::OutsideRange { .. }) => Err(outside(text, engine, range())),
            Err(error) => Err(error),
        }
    }

    /// Whether cts is tested with it.
    pub(crate) fn is_tested(&self, engine: EngineKind) -> bool {
        self.numbers.as_slice() <= engine.newest_tested().as_slice()
    }

    /// Whether it lies before `first`.
    pub(crate) fn is_before(&self, first: &[u64]) -> bool {
        self.numbers.as_slice() < first
    }
}

impl fmt::Display for ExactVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&dotted(&self.numbers))?;
        match &self.metadata {
            Some(metadata) => write!(f, "+{metadata}"),
            None => Ok(()),
        }
    }
}

/// Numbers as they stand in a version.
pub(crate) fn dotted(numbers: &[u64]) -> String {
    let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
    numbers.join(".")
}

fn outside(text: &str, engine: EngineKind, range: String) -> VersionError {
    VersionError::OutsideRange {
        text: text.to_owned(),
        engine,
        range,
    }
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

    const TERRAFORM: EngineKind = EngineKind::Terraform;

    #[test]
    fn exact_versions_are_written_as_the_engine_writes_them() {
        for (text, expected) in [
            ("0.13.0", "0.13.0"),
            ("1.14.3", "1.14.3"),
            ("v1.9.8", "1.9.8"),
            ("1.14.3+ent", "1.14.3+ent"),
            ("1.9.8.0", "1.9.8"),
            ("1.9.8.7", "1.9.8.7"),
            ("v01.09.08", "1.9.8"),
            ("1.14.3.0", "1.14.3"),
            ("1.14.4", "1.14.4"),
            ("2.0.0", "2.0.0"),
        ] {
            let version = ExactVersion::read(text, TERRAFORM).unwrap();
            assert_eq!(version.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn versions_above_the_tested_ones_are_known() {
        for (text, engine, tested) in [
            ("1.14.3", TERRAFORM, true),
            ("1.14.4", TERRAFORM, false),
            ("1.14.3.1", TERRAFORM, false),
            ("1.6.0", EngineKind::OpenTofu, true),
            ("9.0.0", EngineKind::OpenTofu, false),
        ] {
            let version = ExactVersion::read(text, engine).unwrap();
            assert_eq!(version.is_tested(engine), tested, "{text}");
            assert_eq!(ExactVersion::read_tested(text, engine).is_ok(), tested);
        }
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        for (text, expected) in [
            ("0.13.7", true),
            ("v0.13.0+ent", true),
            ("0.14.0", false),
            ("00.14.0.1", false),
            ("1.2.0", false),
        ] {
            let version = ExactVersion::read(text, TERRAFORM).unwrap();
            assert_eq!(version.is_before(&[0, 14, 0]), expected, "{text}");
        }
    }

    #[test]
    fn other_versions_are_refused_with_the_reason() {
        let read = |text| ExactVersion::read(text, TERRAFORM);
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
            let malformed = VersionError::Malformed {
                text: text.into(),
                engine: TERRAFORM,
            };
            assert_eq!(read(text), Err(malformed), "{text}");
        }
        for text in ["1.5", "1", "v1.5"] {
            let inexact = VersionError::Inexact {
                text: text.into(),
                engine: TERRAFORM,
            };
            assert_eq!(read(text), Err(inexact));
        }
        for text in ["0.12.31", "1.9.0-beta1", "1.14.3-rc.1", "1.9.8alpha"] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.ends_with("the supported range >= 0.13.0"), "{error}");
        }
        let old = ExactVersion::read("1.5.7", EngineKind::OpenTofu).unwrap_err();
        let expected =
            "OpenTofu version is not supported: \"1.5.7\" is outside the supported range >= 1.6.0";
        assert_eq!(old.to_string(), expected);
        let new = ExactVersion::read_tested("1.14.4", TERRAFORM).unwrap_err();
        let expected = "Terraform version is not supported: \"1.14.4\" is outside the supported range >= 0.13.0, <= 1.14.3";
        assert_eq!(new.to_string(), expected);
    }
}
