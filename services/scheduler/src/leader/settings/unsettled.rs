//! Assigns the settings in force to queued runs without settings: runs that were moved from another store, and runs that
//! were queued while the settings changed.
//!
//! A run that destroys keeps the generation of the last apply until the leader assigns the successor. The leader does
//! not while the workers lack a provider block of that generation ([`lacking_blocks`]). No worker gets a run that
//! destroys before the run has settings.

use std::collections::BTreeMap;

use cts_core::settings::SettingsScope;
use cts_core::{Digest, RunInput, TaskDefinition};
use cts_store::{Assignment, StoreError, UnsettledRun};

use super::SettingsKeeper;
use super::round::Round;
use crate::explain::lacking_blocks::lacking_blocks;

impl SettingsKeeper {
    /// The runs, each with its blocks. A run whose blocks are not known is left out.
    pub(super) async fn unsettled(
        &self,
        round: &Round,
    ) -> Result<Vec<(UnsettledRun, SettingsScope)>, StoreError> {
        let mut unsettled = Vec::new();
        for run in self.context.store.unsettled_runs().await? {
            let known = run.settings.and_then(|number| round.scope_of(number));
            let scope = match known {
                Some(scope) => Some(scope.clone()),
                None => self.scope_of_run(&run).await?,
            };
            unsettled.extend(scope.map(|scope| (run, scope)));
        }
        Ok(unsettled)
    }

    /// The input decides: a destruction has an earlier input, whose task may name other providers. If the input cannot
    /// be read, the present task counts.
    async fn scope_of_run(&self, run: &UnsettledRun) -> Result<Option<SettingsScope>, StoreError> {
        let definition = match self.definition_in(run.input).await {
            Err(StoreError::CorruptRow { .. }) => None,
            read => read?,
        };
        if let Some(definition) = definition {
            return Ok(Some(SettingsScope::of(&definition)));
        }
        let name = std::slice::from_ref(&run.task);
        let tasks = self.context.store.tasks_named(name).await?;
        let mut definitions = tasks.iter().map(|task| &task.spec.definition);
        Ok(definitions.next().map(SettingsScope::of))
    }

    async fn definition_in(&self, input: Digest) -> Result<Option<TaskDefinition>, StoreError> {
        let mut hashes = self.context.store.input(input).await?.unwrap_or_default();
        hashes.truncate(1);
        let head = self
            .context
            .store
            .contents(&hashes)
            .await?
            .into_iter()
            .next();
        Ok(head.and_then(|head| RunInput::definition_in(&head.bytes).ok()))
    }
}

impl Round {
    /// Assigns to each of these runs the settings in force after this round, unless it lacks blocks.
    pub(super) fn assign(&mut self, unsettled: &[(UnsettledRun, SettingsScope)]) {
        let in_force: BTreeMap<_, _> = self.numbers_in_force().collect();
        let movable = unsettled
            .iter()
            .filter(|(run, scope)| lacking_blocks(run, scope, self.generations()).is_empty());
        let assigned = movable.filter_map(|(run, scope)| {
            let assignment = Assignment {
                run: run.run,
                from: run.settings,
                to: *in_force.get(scope)?,
            };
            (assignment.from != Some(assignment.to)).then_some(assignment)
        });
        let assigned: Vec<_> = assigned.collect();
        self.change.assigned.extend(assigned);
    }

    /// Logs which runs got which settings.
    pub(super) fn log_assigned(&self, unsettled: &[(UnsettledRun, SettingsScope)]) {
        for assignment in &self.change.assigned {
            let mut runs = unsettled.iter().map(|(run, _scope)| run);
            let Some(run) = runs.find(|run| run.run == assignment.run) else {
                continue;
            };
            tracing::info!(
                task_name = %run.task,
                run.id = %run.run,
                settings = assignment.to,
                "a queued run gets the settings in force"
            );
        }
    }
}
