//! Unpacked bundles, each once.

mod slots;
mod stored;

use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cts_core::{Clock, Digest};
use tokio::task::spawn_blocking;

use crate::limits::Limits;
use crate::source::{InvalidModulePath, module_source};
use crate::staging::{STAGING_PREFIX, Staged, staging_directory};
use crate::unpack::UnpackError;
use slots::{LockedSlot, Slots};
use stored::{StoredBundle, hash_of_directory, stored_bundles};

/// A directory that is being filled is not older than this.
const STAGING_AGE: Duration = Duration::from_hours(1);

/// A directory of unpacked bundles, named by their hashes.
///
/// All parts of one process share it. Only one process may use it at a time: a second process can unpack into
/// the same directory, but could remove a bundle that this process uses.
#[derive(Debug)]
pub struct BundleCache {
    directory: PathBuf,
    limits: Limits,
    clock: Arc<dyn Clock>,
    slots: Slots,
}

/// A bundle on disk. As long as a value of it lives, the bundle stays in the cache.
#[derive(Debug, Clone)]
pub struct UnpackedBundle {
    path: PathBuf,
    hash: Digest,
    _in_use: Arc<()>,
}

impl UnpackedBundle {
    /// The directory that stands for the bundle's root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bundle's hash.
    pub fn hash(&self) -> Digest {
        self.hash
    }

    /// The source with which a root module calls the module in this bundle; see [`module_source()`].
    pub fn module_source(&self, module: &Path) -> Result<String, InvalidModulePath> {
        module_source(&self.path, module)
    }
}

/// A bundle cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum EnsureError<E: Error + 'static> {
    /// The fetching function has failed.
    #[error("cannot fetch bundle {hash}")]
    Fetch {
        /// The requested hash.
        hash: Digest,
        /// The error of the fetching function.
        #[source]
        source: E,
    },
    /// The archive has a different hash.
    #[error("bundle {hash} was asked for, and {found} was got")]
    WrongHash {
        /// The requested hash.
        hash: Digest,
        /// The hash of the fetched archive.
        found: Digest,
    },
    /// The archive cannot be unpacked.
    #[error("cannot unpack bundle {hash}")]
    Unpack {
        /// The requested hash.
        hash: Digest,
        /// Why not.
        #[source]
        source: UnpackError,
    },
    /// The cached bundle cannot be read or replaced.
    #[error("cannot use bundle {hash} of the cache")]
    Cache {
        /// The requested hash.
        hash: Digest,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

/// Which unused bundles stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// The number of most recently used bundles that stay.
    pub most_recent: usize,
    /// How long other bundles stay after their last use.
    pub unused_for: Duration,
}

impl BundleCache {
    /// The cache in `directory`, an absolute path. Nothing is created or read yet.
    pub fn new(directory: PathBuf, limits: Limits, clock: Arc<dyn Clock>) -> Self {
        Self {
            directory,
            limits,
            clock,
            slots: Slots::default(),
        }
    }

    /// Returns the unpacked bundle `hash`; if the cache does not have it, `fetch` gets its archive.
    ///
    /// Calls with the same hash wait for each other, so that `fetch` of one of them serves all. If it fails,
    /// that call fails, and the next one tries with its own. A fetched archive is used only if it has the
    /// hash. A bundle of an earlier process is hashed before its first use, and fetched again if it is not
    /// whole. Dropping the future is safe at any time.
    pub async fn ensure<F, R, E>(
        &self,
        hash: Digest,
        fetch: F,
    ) -> Result<UnpackedBundle, EnsureError<E>>
    where
        F: FnOnce() -> R,
        R: Future<Output = Result<Vec<u8>, E>>,
        E: Error + 'static,
    {
        let path = self.directory.join(hash.to_string());
        let mut slot = self.slots.of(hash).lock_owned().await;
        let in_cache = |source| EnsureError::Cache { hash, source };
        if !slot.verified {
            let stored = path.clone();
            let verified;
            (slot, verified) = locked(slot, move || keep_if_whole(&stored, hash)).await;
            slot.verified = verified.map_err(in_cache)?;
        }
        if !slot.verified {
            let bytes = fetch()
                .await
                .map_err(|source| EnsureError::Fetch { hash, source })?;
            let (into, limits) = (path.clone(), self.limits);
            let found;
            (slot, found) = locked(slot, move || unpack_if(hash, &bytes, &into, &limits)).await;
            let found = found.map_err(|source| EnsureError::Unpack { hash, source })?;
            if found != hash {
                return Err(EnsureError::WrongHash { hash, found });
            }
            slot.verified = true;
        }
        let (used, now) = (path.clone(), self.clock.now().into());
        let touched;
        (slot, touched) = locked(slot, move || File::open(used)?.set_modified(now)).await;
        if let Err(source) = touched {
            // Something else removed the bundle; the next call fetches it again.
            slot.verified = false;
            return Err(in_cache(source));
        }
        Ok(UnpackedBundle {
            path,
            hash,
            _in_use: slot.hold(),
        })
    }

    /// Removes unused bundles that `retention` does not keep, and unfinished directories of crashed
    /// processes. Returns the removed bundles.
    pub async fn forget_unused(&self, retention: Retention) -> io::Result<Vec<Digest>> {
        let now = SystemTime::from(self.clock.now());
        let age = move |time: SystemTime| now.duration_since(time).unwrap_or(Duration::ZERO);
        let directory = self.directory.clone();
        let mut stored = blocking(move || {
            remove_stale(&directory, |time| age(time) > STAGING_AGE)?;
            stored_bundles(&directory)
        })
        .await?;
        stored.sort_unstable_by_key(|bundle| (bundle.used, bundle.hash));
        stored.truncate(stored.len().saturating_sub(retention.most_recent));
        stored.retain(|bundle| age(bundle.used) >= retention.unused_for);
        let mut forgotten = Vec::new();
        for StoredBundle { hash, .. } in stored {
            if self.forget(hash).await? {
                forgotten.push(hash);
            }
        }
        Ok(forgotten)
    }

    /// Whether the bundle could be removed: it is not in use, nor about to be.
    async fn forget(&self, hash: Digest) -> io::Result<bool> {
        let slot = self.slots.of(hash);
        let Ok(mut locked_slot) = Arc::clone(&slot).try_lock_owned() else {
            return Ok(false);
        };
        if locked_slot.is_held() {
            return Ok(false);
        }
        locked_slot.verified = false;
        let path = self.directory.join(hash.to_string());
        let (locked_slot, removed) = locked(locked_slot, move || remove(&path)).await;
        removed?;
        drop(locked_slot);
        self.slots.drop_unused(hash, &slot);
        Ok(true)
    }
}

/// Runs `work` where it may block, with the slot locked until it is done: work continues when the future that
/// waits for it is dropped, and must not overlap with the work of the next call.
async fn locked<T: Send + 'static>(
    slot: LockedSlot,
    work: impl FnOnce() -> T + Send + 'static,
) -> (LockedSlot, T) {
    blocking(move || {
        let done = work();
        (slot, done)
    })
    .await
}

/// Runs `work` where it may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Not started, because the runtime is shutting down, which ends this future, too.
            Err(_cancelled) => std::future::pending().await,
        },
    }
}

/// Whether the bundle exists and is whole; removes a damaged bundle.
fn keep_if_whole(path: &Path, hash: Digest) -> io::Result<bool> {
    match hash_of_directory(path) {
        Ok(found) if found == Some(hash) => Ok(true),
        Err(error) if !is_absent(&error) => Err(error),
        Ok(_) | Err(_) => remove(path).map(|()| false),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Unpacks an archive, but publishes it only if it has the requested hash. Returns the hash of the archive.
fn unpack_if(
    hash: Digest,
    bytes: &[u8],
    into: &Path,
    limits: &Limits,
) -> Result<Digest, UnpackError> {
    let beside = into.parent().unwrap_or(Path::new("/"));
    let staged = Staged::unpack(bytes, beside, limits)?;
    if staged.hash == hash {
        staged.publish(into)?;
    }
    Ok(staged.hash)
}

/// Moves a bundle away and removes it: a crash must not leave half a bundle in its place.
fn remove(path: &Path) -> io::Result<()> {
    let beside = path.parent().unwrap_or(Path::new("/"));
    let aside = staging_directory(beside)?;
    match fs::rename(path, aside.path().join("bundle")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => aside.close(),
    }
}

fn remove_stale(directory: &Path, stale: impl Fn(SystemTime) -> bool) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if !name
            .as_encoded_bytes()
            .starts_with(STAGING_PREFIX.as_bytes())
        {
            continue;
        }
        // A directory that has disappeared by now belonged to a process at work.
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        if modified.is_ok_and(&stale) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
