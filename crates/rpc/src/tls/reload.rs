//! Files that are read again and again.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::tls::files::TlsError;
use crate::tls::pem::{Contents, Files};

/// Pause between looks at the files. They are compared by content: links that are turned elsewhere, as
/// in mounted secrets, show in no time of change.
const LOOK_EVERY: Duration = Duration::from_secs(5);

type Build<T> = Box<dyn Fn(&Contents) -> Result<T, TlsError> + Send + Sync>;

/// What was made of some files when they were last in order.
pub(super) struct Reloading<T> {
    files: Files,
    build: Build<T>,
    current: watch::Sender<Arc<T>>,
    contents: tokio::sync::Mutex<Contents>,
}

impl<T> Reloading<T> {
    pub(super) async fn load(files: Files, build: Build<T>) -> Result<Self, TlsError> {
        let contents = files.read().await?;
        let current = watch::Sender::new(Arc::new(build(&contents)?));
        Ok(Self {
            files,
            build,
            current,
            contents: tokio::sync::Mutex::new(contents),
        })
    }

    pub(super) fn current(&self) -> Arc<T> {
        Arc::clone(&self.current.borrow())
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Arc<T>> {
        self.current.subscribe()
    }

    /// Reads the files now and says whether they are others. After an error all is as it was.
    pub(super) async fn reload(&self) -> Result<bool, TlsError> {
        let mut known = self.contents.lock().await;
        let contents = self.files.read().await?;
        if contents == *known {
            return Ok(false);
        }
        let built = (self.build)(&contents)?;
        *known = contents;
        self.current.send_replace(Arc::new(built));
        Ok(true)
    }

    /// Follows the files until `shutdown` is over.
    pub(super) async fn follow(&self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        let mut complaint = None;
        loop {
            tokio::select! {
                () = &mut shutdown => return,
                () = sleep(LOOK_EVERY) => {}
            }
            match self.reload().await {
                Ok(changed) => {
                    if changed || complaint.is_some() {
                        tracing::info!(changed, "the TLS files are in order");
                    }
                    complaint = None;
                }
                Err(error) => {
                    let text = Chain(&error).to_string();
                    if complaint.as_ref() != Some(&text) {
                        tracing::warn!(error = %text, "the TLS files cannot be used, staying with the earlier ones");
                        complaint = Some(text);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use tokio::time::{Instant, timeout};

    use super::*;

    /// Takes any text as it is, but for one.
    async fn reloading(path: &Path) -> Reloading<Vec<u8>> {
        let files = Files {
            ca_cert: Some(path.to_owned()),
            identity: None,
        };
        let build = |contents: &Contents| match contents.ca_cert.clone() {
            Some(text) if text != b"broken" => Ok(text),
            _ => Err(TlsError::Absent {
                path: PathBuf::new(),
                what: "certificate",
            }),
        };
        Reloading::load(files, Box::new(build)).await.unwrap()
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
