//! The task blocks of this member's files, with the brake of the fleet and the default rule of approval, which can be
//! registered again while it runs.

use std::sync::Arc;

use cts_core::brake::FleetMaxShrink;
use cts_core::{ApprovalDefaults, TaskSpec, Verdict};
use cts_store::{Registered, StoreError};
use tokio::sync::{Mutex, MutexGuard};

use super::OwnConfiguration;
use crate::notifier::Notifier;
use crate::tasks::modules::Modules;

/// The task blocks of a member. Cheap to clone; clones share them.
#[derive(Debug, Clone)]
pub struct FileTasks {
    state: Arc<Mutex<State>>,
    modules: Modules,
    notifier: Arc<Notifier>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) own: OwnConfiguration,
    /// Whether the outcome is still open.
    pub(super) is_open: bool,
    /// The blocks were registered by the start, after which failed tasks are tried again.
    pub(super) is_start: bool,
}

impl FileTasks {
    pub(crate) fn new(
        own: OwnConfiguration,
        modules: Modules,
        is_open: bool,
        notifier: Arc<Notifier>,
    ) -> Self {
        let state = State {
            own,
            is_open,
            is_start: true,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            modules,
            notifier,
        }
    }

    pub(super) async fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().await
    }

    /// Registers the task blocks, the brake and the default rule of approval of files that were read again, and waits until
    /// it is certain whether they take effect, by the rule of a start. Returns `None` if they have not changed and are in
    /// force.
    ///
    /// # Errors
    /// The blocks may be registered nevertheless. A repetition does no harm.
    pub async fn register(
        &self,
        tasks: &[TaskSpec],
        with: (Option<FleetMaxShrink>, ApprovalDefaults),
    ) -> Result<Option<Registered>, StoreError> {
        let mut state = self.state.lock().await;
        let before = &state.own;
        let own = OwnConfiguration::read(
            Arc::clone(&before.store),
            before.member.clone(),
            before.time_to_live,
            &self.modules,
            tasks,
            before.configuration.settings.clone(),
            with,
        );
        let own = own.await?;
        let registered = own.register_for_good().await?;
        self.notifier.written();
        let is_same = own.configuration == before.configuration;
        *state = State {
            own,
            is_open: false,
            is_start: false,
        };
        Ok(Some(registered).filter(|it| !is_same || it.verdict != Verdict::TakesEffect))
    }
}
