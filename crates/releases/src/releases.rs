//! The way of a release from the site to an executable file.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Client;
use tempfile::{NamedTempFile, TempPath};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::archive;
use crate::checksums::{hexadecimal, sum_of};
use crate::download::{client, large_file, small_file};
use crate::error::{FileError, ReleaseError};
use crate::keys::ReleaseKeys;
use crate::layout::{Platform, Release};
use crate::lock::{InstallLock, UNFINISHED};

/// Larger than any list of checksums, in bytes; the longest is a few KiB.
const LONGEST_CHECKSUMS: u64 = 256 << 10;

/// Larger than any signature, in bytes.
const LONGEST_SIGNATURE: u64 = 64 << 10;

/// Where releases come from.
#[derive(Debug, Clone)]
pub struct Source {
    /// URL of the site, without a slash at the end.
    pub site: String,
    /// The keys; one of them must have signed the checksums.
    pub keys: ReleaseKeys,
    /// Limits of an installation.
    pub limits: Limits,
}

/// Limits of an installation.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of an archive.
    pub archive: u64,
    /// Bytes of the executable in it.
    pub executable: u64,
    /// Longest time for the whole installation.
    pub time: Duration,
    /// Longest time in which the site sends nothing.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            archive: 256 << 20,
            executable: 1 << 30,
            time: Duration::from_mins(20),
            silence: Duration::from_secs(20),
        }
    }
}

/// Fetches releases from one site.
#[derive(Debug)]
pub struct Releases {
    client: Client,
    source: Source,
    platform: Platform,
}

/// An executable that was checked and does not have its name yet; removed when it is dropped.
#[derive(Debug)]
pub struct Staged<'a> {
    file: TempPath,
    target: PathBuf,
    lock: &'a InstallLock,
}

impl Releases {
    /// Makes the client. Connects only later.
    pub fn new(source: Source) -> Result<Self, ReleaseError> {
        Ok(Self {
            client: client(source.limits.silence)?,
            platform: Platform::current().ok_or(ReleaseError::NoPlatform)?,
            source,
        })
    }

    /// Downloads a release into the directory of `lock`, checks it and unpacks its executable.
    ///
    /// # Cancellation
    /// Dropping the future removes the written files.
    pub async fn fetch<'a>(
        &self,
        release: &Release,
        lock: &'a InstallLock,
    ) -> Result<Staged<'a>, ReleaseError> {
        let limit = self.source.limits.time;
        timeout(limit, self.fetch_slowly(release, lock))
            .await
            .unwrap_or(Err(ReleaseError::TooSlow { limit }))
    }

    async fn fetch_slowly<'a>(
        &self,
        release: &Release,
        lock: &'a InstallLock,
    ) -> Result<Staged<'a>, ReleaseError> {
        let site = release.directory(&self.source.site);
        let checksums = self.signed_checksums(release, &site).await?;
        let archive = release.archive(&self.platform);
        let expected = sum_of(&checksums, &archive).ok_or_else(|| ReleaseError::NotListed {
            url: format!("{site}/{}", release.checksums()),
            archive: archive.clone(),
        })?;
        let url = format!("{site}/{archive}");
        let downloaded = temporary_file(lock.directory())?.into_temp_path();
        let limit = self.source.limits.archive;
        let found = large_file(&self.client, &url, &downloaded, limit).await?;
        if found != expected {
            return Err(ReleaseError::Checksum {
                url,
                expected: hexadecimal(&expected),
                found: hexadecimal(&found),
            });
        }
        let name = release.engine.executable();
        let executable = temporary_file(lock.directory())?;
        let limit = self.source.limits.executable;
        let unpack = move || unpack(&url, &downloaded, name, executable, limit);
        let unpacked = spawn_blocking(unpack).await;
        let file = unpacked
            .map_err(|error| FileError::of("unpack into", lock.directory())(error.into()))??;
        Ok(Staged {
            file,
            target: lock.directory().join(name),
            lock,
        })
    }

    /// The checksums of a release, after the check that a key that counts has signed them.
    async fn signed_checksums(
        &self,
        release: &Release,
        site: &str,
    ) -> Result<Vec<u8>, ReleaseError> {
        let url = format!("{site}/{}", release.checksums());
        let checksums = small_file(&self.client, &url, LONGEST_CHECKSUMS).await?;
        let checksums = checksums.ok_or_else(|| ReleaseError::Status {
            url: url.clone(),
            status: reqwest::StatusCode::NOT_FOUND,
        })?;
        let mut refused = None;
        for name in release.signatures(self.source.keys.short_ids()) {
            let address = format!("{site}/{name}");
            let signature = small_file(&self.client, &address, LONGEST_SIGNATURE).await?;
            let Some(signature) = signature else {
                continue;
            };
            match self.source.keys.verify(&checksums, &signature) {
                Ok(()) => return Ok(checksums),
                Err(error) => refused = Some(error),
            }
        }
        Err(match refused {
            Some(source) => ReleaseError::Signature { url, source },
            None => ReleaseError::NoSignature { url },
        })
    }
}

impl Staged<'_> {
    /// The executable file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Gives the file its final name, in one step and durably; returns its path.
    pub fn install(self) -> Result<PathBuf, ReleaseError> {
        let Self { file, target, lock } = self;
        file.persist(&target)
            .map_err(|error| FileError::of("install", &target)(error.error))?;
        let directory = lock.directory();
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(FileError::of("write", directory))?;
        Ok(target)
    }
}

fn temporary_file(directory: &Path) -> Result<NamedTempFile, FileError> {
    tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(directory)
        .map_err(FileError::of("make a file in", directory))
}

/// Unpacks the executable. When this returns, the file is on the disk and no longer open for writing, so that
/// it can be run.
fn unpack(
    url: &str,
    downloaded: &Path,
    name: &'static str,
    mut executable: NamedTempFile,
    limit: u64,
) -> Result<TempPath, ReleaseError> {
    let archive = File::open(downloaded).map_err(FileError::of("read", downloaded))?;
    archive::unpack(archive, name, executable.as_file_mut(), limit).map_err(|source| {
        ReleaseError::Archive {
            url: url.to_owned(),
            source,
        }
    })?;
    let path = executable.path().to_owned();
    executable
        .as_file()
        .sync_all()
        .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o755)))
        .map_err(FileError::of("write", path))?;
    Ok(executable.into_temp_path())
}
