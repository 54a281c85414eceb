//! The present keys and endpoints of an issuer: read again every few minutes, and when a token names an unknown key.

use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_runtime::Outage;
use jsonwebtoken::{Algorithm, DecodingKey};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::documents::{Documents, IssuerError, LoginEndpoints, READ_LIMIT};
use super::key_set::KeySet;
use super::settings::IssuerSettings;

/// Pause between readings.
const READ_EVERY: Duration = Duration::from_mins(5);

/// Pause after a reading that has failed.
const TRIED_EVERY: Duration = Duration::from_secs(30);

/// Pause between readings for unknown keys: tokens can name any.
const LOOKED_EVERY: Duration = Duration::from_secs(10);

/// Keys of an issuer that cannot be read any more.
const KEPT_FOR: Duration = Duration::from_hours(24);

/// The keys of one issuer. [`Keys::follow`] reads them; callers wait for it, so that a caller that goes away
/// interrupts no reading.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) documents: Documents,
    state: watch::Sender<State>,
    wanted: Notify,
}

#[derive(Debug, Default)]
struct State {
    current: Option<Current>,
    /// End of the last reading.
    tried: Option<Instant>,
}

#[derive(Debug)]
struct Current {
    set: KeySet,
    /// Increases with each other set.
    version: u64,
    endpoints: Option<LoginEndpoints>,
    read: Instant,
}

/// A key, and the version of the set that has it.
pub(super) struct FoundKey {
    pub(super) key: Arc<DecodingKey>,
    pub(super) version: u64,
}

impl Keys {
    pub(super) fn new(settings: &IssuerSettings) -> Result<Self, IssuerError> {
        Ok(Self {
            documents: Documents::new(settings)?,
            state: watch::Sender::default(),
            wanted: Notify::new(),
        })
    }

    /// Whether the set with this version is in use.
    pub(super) fn is_current(&self, version: u64) -> bool {
        let state = self.state.borrow();
        state.usable().is_some_and(|set| set.version == version)
    }

    /// The key with this id that makes such signatures. Waits for a reading if the key is unknown, unless the last
    /// reading is only seconds ago.
    pub(super) async fn find(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<FoundKey, IssuerError> {
        // Without an id every wrong token would cause a reading.
        let found = self.look(|state| state.find(id, algorithm), id.is_some());
        found.await.ok_or(IssuerError::NoKey)
    }

    /// The endpoints for logins. Waits for a reading as [`Keys::find`] does.
    pub(super) async fn endpoints(&self) -> Result<LoginEndpoints, IssuerError> {
        let found = self.look(|state| Some(state.usable()?.endpoints.clone()), true);
        let endpoints = found.await.ok_or(IssuerError::Unread)?;
        endpoints.ok_or(IssuerError::NoLogins)
    }

    /// Looks for something in the last reading, and then in the next one, if that is wanted or would be the first.
    async fn look<T>(&self, find: impl Fn(&State) -> Option<T>, is_wanted: bool) -> Option<T> {
        let mut state = self.state.subscribe();
        {
            let state = state.borrow_and_update();
            if let Some(found) = find(&state) {
                return Some(found);
            }
            let is_wanted = is_wanted || state.current.is_none();
            if !is_wanted || state.tried.is_some_and(|at| at.elapsed() < LOOKED_EVERY) {
                return None;
            }
        }
        self.wanted.notify_waiters();
        // Without a reading in time, nothing more is found.
        let _read = timeout(READ_LIMIT, state.changed()).await;
        find(&self.state.borrow())
    }

    /// Reads the keys for ever.
    pub(super) async fn follow(&self, issuer: &str) {
        let mut outage = Outage::default();
        loop {
            let read = self.documents.read().await;
            let pause = if read.is_ok() {
                READ_EVERY
            } else {
                TRIED_EVERY
            };
            match &read {
                Ok((set, _)) if set.is_empty() => {
                    if outage.fails_with("") {
                        tracing::warn!(target: "access", issuer, "the issuer has no keys for signatures, its tokens are refused");
                    }
                }
                Ok(_) => {
                    if outage.works() {
                        tracing::info!(target: "access", issuer, "the keys of the issuer are read again");
                    }
                }
                Err(error) => {
                    let error = Chain(error).to_string();
                    if outage.fails_with(&error) {
                        tracing::warn!(target: "access", issuer, error, "the keys of the issuer cannot be read, trying again");
                    }
                }
            }
            let tried = Instant::now();
            self.state.send_modify(|state| state.take(read.ok(), tried));
            let mut wanted = std::pin::pin!(self.wanted.notified());
            wanted.as_mut().enable();
            sleep_until(tried + LOOKED_EVERY).await;
            let _wanted = timeout_at(tried + pause, wanted).await;
        }
    }
}

impl State {
    fn take(&mut self, read: Option<(KeySet, Option<LoginEndpoints>)>, tried: Instant) {
        self.tried = Some(tried);
        let Some((set, endpoints)) = read else {
            return;
        };
        let version = match &self.current {
            None => 0,
            Some(current) if current.set.equals(&set) => current.version,
            Some(current) => current.version + 1,
        };
        self.current = Some(Current {
            set,
            version,
            endpoints,
            read: tried,
        });
    }

    fn usable(&self) -> Option<&Current> {
        let current = self.current.as_ref()?;
        (current.read.elapsed() <= KEPT_FOR).then_some(current)
    }

    fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<FoundKey> {
        let current = self.usable()?;
        let key = current.set.find(id, algorithm)?;
        Some(FoundKey {
            key: Arc::clone(key),
            version: current.version,
        })
    }
}
