//! State that the listeners, the runs and the test share.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use axum::http::Method;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::api;
use super::call::{Answered, Call};
use super::caller::Caller;
use super::engine::Children;
use super::faults::{Fault, HcpRequest};
use super::model::Model;

/// Follows a run until it ends.
type Follow = fn(Arc<Shared>, String) -> Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Debug)]
pub(super) struct Shared {
    model: Mutex<Model>,
    /// Moves with every change of the model.
    changed: watch::Sender<()>,
    pub(super) faults: Mutex<Vec<Fault>>,
    pub(super) requests: Mutex<Vec<HcpRequest>>,
    follow: Follow,
    /// Followed runs.
    runs: Mutex<JoinSet<()>>,
    pub(super) children: Children,
    /// Where runs have their files.
    pub(super) directory: PathBuf,
}

impl Shared {
    pub(super) fn new(model: Model, directory: PathBuf, follow: Follow) -> Self {
        Self {
            model: Mutex::new(model),
            changed: watch::Sender::new(()),
            faults: Mutex::default(),
            requests: Mutex::default(),
            follow,
            runs: Mutex::default(),
            children: Children::default(),
            directory,
        }
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&Model) -> T) -> T {
        read(&self.model.lock())
    }

    /// Changes the model, wakes those that wait for a change, and follows new runs.
    pub(super) fn change<T>(self: &Arc<Self>, change: impl FnOnce(&mut Model) -> T) -> T {
        let (result, created) = {
            let mut model = self.model.lock();
            let result = change(&mut model);
            (result, std::mem::take(&mut model.created_runs))
        };
        self.changed.send_replace(());
        let mut runs = self.runs.lock();
        while runs.try_join_next().is_some() {}
        for id in created {
            runs.spawn((self.follow)(Arc::clone(self), id));
        }
        result
    }

    /// Waits until this gives a value. The model may be changed for that.
    pub(super) async fn until<T>(
        self: &Arc<Self>,
        mut probe: impl FnMut(&mut Model) -> Option<T>,
    ) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let found = probe(&mut self.model.lock());
            if let Some(found) = found {
                self.changed.send_replace(());
                return found;
            }
            // The sender lives as long as `self`.
            let _open = changed.changed().await;
        }
    }

    /// Carries out a call of the API.
    pub(super) fn call(
        self: &Arc<Self>,
        method: Method,
        path: &str,
        query: &[(String, String)],
        body: &Value,
        caller: &Caller,
    ) -> Answered {
        let path = path.trim_matches('/').split('/').collect();
        let call = Call {
            method,
            path,
            query,
            body,
            caller,
        };
        self.change(|model| api::answer(model, &call))
    }

    /// Ends all processes and forgets all runs.
    pub(super) fn end(&self) {
        self.children.kill();
        self.runs.lock().abort_all();
    }
}
