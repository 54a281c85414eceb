//! How a test slows, breaks and bounds a server.

use super::call::identifier;
use super::model::{AgentPool, Policy};
use super::{Fault, HcpServer, Phase, api};

impl HcpServer {
    /// Holds all runs that enter this status, until [`Self::release`].
    pub fn hold(&self, phase: Phase) {
        self.shared.change(|model| model.held.insert(phase));
    }

    /// Lets runs go on that [`Self::hold`] holds in this status.
    pub fn release(&self, phase: Phase) {
        self.shared.change(|model| model.held.remove(&phase));
    }

    /// Gives a status a name that the API does not have, as a later version may.
    pub fn rename_status(&self, phase: Phase, name: &'static str) {
        self.shared
            .change(|model| model.renamed.insert(phase, name));
    }

    /// From now on, the server ignores the values that come with a run, as a server without such values does.
    pub fn ignore_run_variables(&self) {
        self.shared
            .change(|model| model.ignores_run_variables = true);
    }

    /// Keeps uploaded configuration versions `pending`, until [`Self::release_uploads`].
    pub fn hold_uploads(&self) {
        self.shared.change(|model| model.uploads_held = true);
    }

    /// Ends the uploads that were held.
    pub fn release_uploads(&self) {
        self.shared.change(|model| {
            model.uploads_held = false;
            let held = model.configurations.iter();
            let held = held.filter(|known| known.status == "pending" && !known.content.is_empty());
            let held: Vec<String> = held.map(|known| known.id.clone()).collect();
            for id in held {
                api::finish_upload(model, &id);
            }
        });
    }

    /// Lets requests fail. Several faults are tried in the order of these calls.
    pub fn fault(&self, fault: Fault) {
        self.shared.faults.lock().push(fault);
    }

    /// Forgets all faults.
    pub fn clear_faults(&self) {
        self.shared.faults.lock().clear();
    }

    /// Adds a pool with so many agents and returns its identifier.
    pub fn add_agent_pool(&self, name: &str, agents: usize) -> String {
        let pool = AgentPool {
            id: identifier("apool"),
            name: name.to_owned(),
            agents,
        };
        let id = pool.id.clone();
        self.shared.change(|model| model.agent_pools.push(pool));
        id
    }

    /// Sets the number of agents of a pool. Without agents, runs wait.
    pub fn set_agents(&self, pool: &str, agents: usize) {
        self.shared.change(|model| {
            let pools = model.agent_pools.iter_mut();
            for known in pools.filter(|known| known.name == pool) {
                known.agents = agents;
            }
        });
    }

    /// Sets what policies say to the runs of a workspace.
    pub fn set_policy(&self, workspace: &str, policy: Policy) {
        self.change_workspace(workspace, |workspace| workspace.policy = policy);
    }

    /// Sets whether runs of a workspace estimate costs.
    pub fn estimate_costs(&self, workspace: &str, estimates: bool) {
        self.change_workspace(workspace, |workspace| workspace.estimates_costs = estimates);
    }

    pub(super) fn change_workspace<T>(
        &self,
        name: &str,
        change: impl FnOnce(&mut super::model::Workspace) -> T,
    ) -> T {
        self.shared.change(|model| {
            let workspace = api::workspace_with_name(model, name);
            change(workspace.unwrap_or_else(|| panic!("there is no workspace {name}")))
        })
    }
}
