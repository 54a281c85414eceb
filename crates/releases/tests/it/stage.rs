//! A site, a key and a directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cts_core::EngineKind;
use cts_releases::{InstallLock, Limits, Release, ReleaseError, ReleaseKeys, Releases, Source};
use cts_testkit::{ReleaseKey, ReleaseSite, engine_script, zip_archive};
use semver::Version;
use tempfile::TempDir;

pub(crate) const ARCHIVE: &str = "/terraform/1.9.8/terraform_1.9.8_linux_amd64.zip";
pub(crate) const CHECKSUMS: &str = "/terraform/1.9.8/terraform_1.9.8_SHA256SUMS";
pub(crate) const SIGNATURE: &str = "/terraform/1.9.8/terraform_1.9.8_SHA256SUMS.sig";

pub(crate) struct Stage {
    pub(crate) site: ReleaseSite,
    pub(crate) key: ReleaseKey,
    pub(crate) directory: TempDir,
    pub(crate) limits: Limits,
}

impl Stage {
    /// With Terraform 1.9.8 on the site.
    pub(crate) fn new() -> Self {
        Self::with_key(ReleaseKey::generate())
    }

    pub(crate) fn with_key(key: ReleaseKey) -> Self {
        let stage = Self {
            site: ReleaseSite::start(),
            key,
            directory: TempDir::new().unwrap(),
            limits: Limits {
                archive: 1 << 20,
                executable: 1 << 20,
                time: Duration::from_secs(30),
                silence: Duration::from_secs(20),
            },
        };
        let script = engine_script("1.9.8");
        stage.put(&zip_archive(&[
            ("LICENSE.txt", b"free"),
            ("terraform", script.as_bytes()),
        ]));
        stage
    }

    pub(crate) fn put(&self, archive: &[u8]) {
        self.site.put_terraform("1.9.8", archive, &self.key);
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn releases(&self) -> Releases {
        Releases::new(Source {
            site: self.site.url().to_owned(),
            keys: ReleaseKeys::read(self.key.public().as_bytes()).unwrap(),
            limits: self.limits,
        })
        .unwrap()
    }

    pub(crate) async fn lock(&self) -> InstallLock {
        InstallLock::take(self.path(), Duration::ZERO)
            .await
            .unwrap()
    }

    pub(crate) async fn install(&self) -> Result<PathBuf, ReleaseError> {
        let lock = self.lock().await;
        let staged = self.releases().fetch(&terraform(), &lock).await?;
        staged.install()
    }

    /// The error of a refused installation, which leaves no file.
    pub(crate) async fn refused(&self) -> ReleaseError {
        let error = self.install().await.unwrap_err();
        assert_eq!(self.left(), [""; 0]);
        error
    }

    /// The files in the directory except the lock.
    pub(crate) fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != ".cts-install.lock").collect()
    }
}

pub(crate) fn terraform() -> Release {
    Release {
        engine: EngineKind::Terraform,
        version: Version::new(1, 9, 8),
    }
}
