//! Files that are read again and again.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_runtime::Outage;
use rustls::pki_types::UnixTime;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::contents::Contents;
use crate::error::TlsError;
use crate::files::Files;

/// Pause between looks at the files. They are compared by content: links that are turned elsewhere, as
/// in mounted secrets, show in no time of change.
const LOOK_EVERY: Duration = Duration::from_secs(5);

type Build<T> = Box<dyn Fn(&Contents) -> Result<T, TlsError> + Send + Sync>;

/// A value that was made of some files when they were last in order.
pub struct Reloading<T> {
    files: Files,
    build: Build<T>,
    current: watch::Sender<Arc<T>>,
    contents: tokio::sync::Mutex<Contents>,
}

impl<T> Reloading<T> {
    /// Reads the files and makes a value of them with `build`, now and after each of their changes.
    pub async fn load(
        files: Files,
        build: impl Fn(&Contents) -> Result<T, TlsError> + Send + Sync + 'static,
    ) -> Result<Self, TlsError> {
        let contents = files.read().await?;
        let current = watch::Sender::new(Arc::new(build(&contents)?));
        Ok(Self {
            files,
            build: Box::new(build),
            current,
            contents: tokio::sync::Mutex::new(contents),
        })
    }

    /// Returns the value that was made last.
    pub fn current(&self) -> Arc<T> {
        Arc::clone(&self.current.borrow())
    }

    /// Sees every exchange from now on.
    pub fn subscribe(&self) -> watch::Receiver<Arc<T>> {
        self.current.subscribe()
    }

    /// Reads the files now and returns whether they have changed. After an error the earlier state stays in
    /// force. It is an error if a certificate has ended and the one in force has not.
    pub async fn reload(&self) -> Result<bool, TlsError> {
        let mut known = self.contents.lock().await;
        let contents = self.files.read().await?;
        if contents == *known {
            return Ok(false);
        }
        let built = (self.build)(&contents)?;
        let now = i64::try_from(UnixTime::now().as_secs()).unwrap_or(i64::MAX);
        if let Some(ended) = contents.ended_unlike(&known, now) {
            return Err(TlsError::ended(ended));
        }
        *known = contents;
        self.current.send_replace(Arc::new(built));
        Ok(true)
    }

    /// Follows the files until `shutdown` is over.
    pub async fn follow(&self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        let mut outage = Outage::default();
        loop {
            tokio::select! {
                () = &mut shutdown => return,
                () = sleep(LOOK_EVERY) => {}
            }
            match self.reload().await {
                Ok(changed) => {
                    if outage.works() || changed {
                        tracing::info!(changed, "the TLS files are in order");
                    }
                }
                Err(error) => {
                    let text = Chain(&error).to_string();
                    if outage.fails_with(&text) {
                        tracing::warn!(error = %text, "the TLS files cannot be used, staying with the earlier ones");
                    }
                }
            }
        }
    }
}

impl<T> fmt::Debug for Reloading<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reloading")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use tokio::time::{Instant, timeout};

    use super::*;
    use crate::files::IdentityFiles;

    /// Takes any text as it is, but for one.
    async fn reloading(path: &Path) -> Reloading<Vec<u8>> {
        let files = Files {
            authorities: None,
            identity: Some(IdentityFiles {
                cert: path.to_owned(),
                key: path.to_owned(),
            }),
        };
        let build = |contents: &Contents| match contents.identity_pem() {
            Some((text, _key)) if text != b"broken" => Ok(text.to_vec()),
            _ => Err(TlsError::Absent {
                path: PathBuf::new(),
                what: "certificate",
            }),
        };
        Reloading::load(files, build).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn changed_files_are_found_by_looking() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        fs::write(&path, "first").unwrap();
        let reloading = reloading(&path).await;
        let mut changes = reloading.subscribe();
        let begun = Instant::now();
        let change = async {
            fs::write(&path, "broken").unwrap();
            let nothing = timeout(3 * LOOK_EVERY, changes.changed()).await;
            assert!(nothing.is_err());
            assert_eq!(*reloading.current(), b"first");
            fs::write(&path, "second").unwrap();
            changes.changed().await.unwrap();
        };
        reloading.follow(change).await;
        assert_eq!(*reloading.current(), b"second");
        assert!(begun.elapsed() <= 5 * LOOK_EVERY, "{:?}", begun.elapsed());
    }
}
