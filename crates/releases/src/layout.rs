//! Names and places of the files of a release (docs/configuration.md#engine).

use cts_core::EngineKind;
use semver::Version;

/// The site of an engine's vendor, used unless a mirror is configured.
pub const fn vendor_site(engine: EngineKind) -> &'static str {
    match engine {
        EngineKind::Terraform => "https://releases.hashicorp.com",
        EngineKind::OpenTofu => "https://github.com/opentofu/opentofu/releases/download",
    }
}

/// A platform that releases are made for, in the words of their file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    os: &'static str,
    arch: &'static str,
}

impl Platform {
    /// The platform of this program; `None` if the vendors release nothing for it.
    pub fn current() -> Option<Self> {
        Self::of(std::env::consts::OS, std::env::consts::ARCH)
    }

    fn of(os: &str, arch: &str) -> Option<Self> {
        let os = match os {
            "linux" => "linux",
            "macos" => "darwin",
            "freebsd" => "freebsd",
            _ => return None,
        };
        let arch = match arch {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "x86" => "386",
            "arm" => "arm",
            _ => return None,
        };
        Some(Self { os, arch })
    }
}

/// A version of an engine, as it is released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    pub engine: EngineKind,
    pub version: Version,
}

impl Release {
    /// The directory of its files below `site`.
    pub(crate) fn directory(&self, site: &str) -> String {
        let version = &self.version;
        match self.engine {
            EngineKind::Terraform => format!("{site}/terraform/{version}"),
            EngineKind::OpenTofu => format!("{site}/v{version}"),
        }
    }

    pub(crate) fn archive(&self, platform: &Platform) -> String {
        let Platform { os, arch } = platform;
        format!("{}_{os}_{arch}.zip", self.prefix())
    }

    /// The checksums of all its archives.
    pub(crate) fn checksums(&self) -> String {
        format!("{}_SHA256SUMS", self.prefix())
    }

    /// Files that may hold the signature of the checksums by one of the keys with these ids.
    pub(crate) fn signatures(&self, key_ids: impl Iterator<Item = String>) -> Vec<String> {
        let checksums = self.checksums();
        match self.engine {
            EngineKind::Terraform => {
                let of_keys = key_ids.map(|id| format!("{checksums}.{id}.sig"));
                std::iter::once(format!("{checksums}.sig"))
                    .chain(of_keys)
                    .collect()
            }
            EngineKind::OpenTofu => vec![format!("{checksums}.gpgsig")],
        }
    }

    fn prefix(&self) -> String {
        format!("{}_{}", self.engine.executable(), self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_where_the_vendors_put_them() {
        let platform = Platform::of("linux", "x86_64").unwrap();
        let ids = || ["72D7468F".to_owned()].into_iter();
        let terraform = Release {
            engine: EngineKind::Terraform,
            version: Version::new(1, 14, 3),
        };
        assert_eq!(
            terraform.directory("https://m"),
            "https://m/terraform/1.14.3"
        );
        let archive = terraform.archive(&platform);
        assert_eq!(archive, "terraform_1.14.3_linux_amd64.zip");
        assert_eq!(
            terraform.signatures(ids()),
            [
                "terraform_1.14.3_SHA256SUMS.sig",
                "terraform_1.14.3_SHA256SUMS.72D7468F.sig"
            ]
        );
        let tofu = Release {
            engine: EngineKind::OpenTofu,
            version: Version::new(1, 10, 6),
        };
        assert_eq!(tofu.directory("https://m"), "https://m/v1.10.6");
        let platform = Platform::of("macos", "aarch64").unwrap();
        assert_eq!(tofu.archive(&platform), "tofu_1.10.6_darwin_arm64.zip");
        assert_eq!(tofu.signatures(ids()), ["tofu_1.10.6_SHA256SUMS.gpgsig"]);
        assert_eq!(Platform::of("linux", "riscv64"), None);
        assert!(Platform::current().is_some());
    }
}
