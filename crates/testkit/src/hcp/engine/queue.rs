//! Conditions for which a run waits.

use super::super::model::{Lock, Model, Run};
use super::super::phase::Phase;
use super::stage_result::Step;

/// Whether a run is the next of its workspace; it then holds the lock. Runs that only plan wait for nothing.
pub(super) fn takes_turn(model: &mut Model, at: usize) -> bool {
    let run = &model.runs[at];
    if run.plan_only {
        return true;
    }
    let first = model.first_in_queue(&run.workspace);
    if first.is_none_or(|first| first.id != run.id) {
        return false;
    }
    let (id, workspace) = (run.id.clone(), run.workspace.clone());
    let Some(workspace) = model.workspace_mut(&workspace) else {
        return false;
    };
    *workspace.lock.get_or_insert_with(|| Lock::Run(id.clone())) == Lock::Run(id)
}

/// The archive of a run's configuration version, and the execution mode of its workspace.
pub(super) fn configuration(model: &Model, run: &Run) -> Step<(Vec<u8>, String)> {
    let mode = mode_of(model, run).ok_or(Phase::Errored)?;
    let known = model.configuration(&run.configuration);
    let uploaded = known.filter(|known| known.status == "uploaded");
    let content = uploaded.map(|known| known.content.clone());
    Ok((content.ok_or(Phase::Errored)?, mode))
}

pub(super) fn mode_of(model: &Model, run: &Run) -> Option<String> {
    Some(model.workspace(&run.workspace)?.mode().to_owned())
}

/// Agents do one thing at a time.
pub(super) fn has_machine(model: &Model, run: &Run) -> bool {
    let pool_of = |run: &Run| model.workspace(&run.workspace)?.agent_pool.clone();
    let Some(id) = pool_of(run) else {
        return true;
    };
    let mut pools = model.agent_pools.iter();
    let agents = pools
        .find(|pool| pool.id == id)
        .map_or(0, |pool| pool.agents);
    let working = model.runs.iter().filter(|other| {
        matches!(other.status, Phase::Planning | Phase::Applying)
            && pool_of(other).as_deref() == Some(&id)
    });
    working.count() < agents
}
