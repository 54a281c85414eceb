//! Warnings for operators about settings of workers that are not in force: one warning each time the difference
//! changes.

use std::collections::{BTreeMap, HashSet};

use cts_core::settings::{BlockDigests, Comparison, SettingsGeneration, SettingsScope};
use cts_core::{WorkerId, WorkerRecord};
use cts_store::WorkerState;

use super::settings_in_force::Used;
use crate::liveness::is_lost;

/// Named as the difference where workers have no key in common.
const KEY: &str = "the key of the cluster";

/// The differences that were logged.
#[derive(Debug, Default)]
pub(super) struct Differences {
    workers: HashSet<(WorkerId, String)>,
    scopes: BTreeMap<SettingsScope, Vec<String>>,
}

impl Differences {
    pub(super) fn log_workers(
        &mut self,
        workers: &[WorkerState],
        generations: &[SettingsGeneration],
        used: &Used,
    ) {
        let mut now = HashSet::new();
        for worker in workers {
            let WorkerRecord { id, host, .. } = &worker.worker;
            if worker.worker.draining || is_lost(worker) {
                continue;
            }
            for (block, scope) in differing(&worker.worker, generations) {
                let Some(task) = used.get(scope) else {
                    continue;
                };
                let is_new = now.insert((id.clone(), block.clone()));
                if is_new && !self.workers.contains(&(id.clone(), block.clone())) {
                    tracing::warn!(target: "ctrl", host = %host, worker.id = %id, block = %block, task_name = %task, "a worker has other settings than those in force: it gets no run of this task and others that use the block");
                }
            }
        }
        self.workers = now;
    }

    pub(super) fn log_disagreements(
        &mut self,
        disagreements: &BTreeMap<SettingsScope, Vec<String>>,
        used: &Used,
    ) {
        for (scope, blocks) in disagreements {
            let Some(task) = used.get(scope) else {
                continue;
            };
            if self.scopes.get(scope) != Some(blocks) {
                let blocks = if blocks.is_empty() {
                    KEY.to_owned()
                } else {
                    blocks.join(", ")
                };
                tracing::warn!(target: "ctrl", blocks = %blocks, task_name = %task, "no worker has the settings in force, and those that there are do not agree: this task and others that use these blocks wait until they do");
            }
        }
        self.scopes.clone_from(disagreements);
    }
}

/// The blocks in which a worker differs from the settings in force, each with a scope.
fn differing<'a>(
    worker: &WorkerRecord,
    generations: &'a [SettingsGeneration],
) -> BTreeMap<String, &'a SettingsScope> {
    let mut differing = BTreeMap::new();
    let reported = worker.settings.as_ref();
    let Some(reported) = reported.filter(|reported| !reported.is_empty()) else {
        return differing;
    };
    let in_force = generations
        .iter()
        .filter(|known| known.in_force && !known.digests.is_empty());
    for known in in_force {
        for block in differences(&reported.within(&known.scope), &known.digests) {
            differing.entry(block).or_insert(&known.scope);
        }
    }
    differing
}

fn differences(reported: &BlockDigests, in_force: &BlockDigests) -> Vec<String> {
    match reported.compare(in_force) {
        Comparison::Equal => Vec::new(),
        Comparison::Different(blocks) => blocks,
        Comparison::NoCommonKey => vec![KEY.to_owned()],
    }
}

/// The names of the blocks in which a worker differs from the settings in force.
pub(crate) fn other_settings(
    worker: &WorkerRecord,
    generations: &[SettingsGeneration],
) -> Vec<String> {
    differing(worker, generations).into_keys().collect()
}
