//! Everything that the server remembers.

mod configuration;
mod run;
mod signed;
mod stage;
mod state_version;
mod variable;
mod workspace;
mod workspace_document;

use std::collections::{BTreeMap, BTreeSet};

use super::call::identifier;
use super::caller::Caller;
use super::phase::Phase;
use super::settings::HcpSettings;
pub(super) use configuration::Configuration;
pub(super) use run::{Cancel, PolicyCheck, Run};
pub(super) use signed::{Signed, SignedAddresses};
pub(super) use stage::StageName;
pub(super) use state_version::{StateVersion, md5};
pub(super) use variable::Variable;
pub use workspace::Policy;
pub(super) use workspace::{Lock, Workspace};

/// A pool with its number of agents.
#[derive(Debug, Clone)]
pub(super) struct AgentPool {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) agents: usize,
}

#[derive(Debug)]
pub(super) struct Model {
    pub(super) settings: HcpSettings,
    /// Where the API is, without a path.
    pub(super) address: String,
    /// Callers by token.
    pub(super) tokens: BTreeMap<String, Caller>,
    /// Identifier of the default project.
    pub(super) project: String,
    pub(super) agent_pools: Vec<AgentPool>,
    pub(super) workspaces: Vec<Workspace>,
    pub(super) configurations: Vec<Configuration>,
    pub(super) runs: Vec<Run>,
    pub(super) state_versions: Vec<StateVersion>,
    pub(super) signed: SignedAddresses,
    /// Runs stop before what they do in these.
    pub(super) held: BTreeSet<Phase>,
    /// Names that clients see in the place of those of the API.
    pub(super) renamed: BTreeMap<Phase, &'static str>,
    /// Uploads stay `pending`.
    pub(super) uploads_held: bool,
    /// Values that come with a run are dropped without a word.
    pub(super) ignores_run_variables: bool,
    /// Runs that are created but not followed yet.
    pub(super) created_runs: Vec<String>,
}

impl Model {
    pub(super) fn new(settings: HcpSettings, address: String, archive: String) -> Self {
        Self {
            settings,
            address,
            tokens: BTreeMap::new(),
            project: identifier("prj"),
            agent_pools: Vec::new(),
            workspaces: Vec::new(),
            configurations: Vec::new(),
            runs: Vec::new(),
            state_versions: Vec::new(),
            signed: SignedAddresses::at(archive),
            held: BTreeSet::new(),
            renamed: BTreeMap::new(),
            uploads_held: false,
            ignores_run_variables: false,
            created_runs: Vec::new(),
        }
    }

    pub(super) fn workspace(&self, id: &str) -> Option<&Workspace> {
        self.workspaces.iter().find(|workspace| workspace.id == id)
    }

    pub(super) fn workspace_mut(&mut self, id: &str) -> Option<&mut Workspace> {
        self.workspaces
            .iter_mut()
            .find(|workspace| workspace.id == id)
    }

    pub(super) fn workspace_named(&self, name: &str) -> Option<&Workspace> {
        self.workspaces
            .iter()
            .find(|workspace| workspace.name() == name)
    }

    pub(super) fn run(&self, id: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.id == id)
    }

    pub(super) fn run_mut(&mut self, id: &str) -> Option<&mut Run> {
        self.runs.iter_mut().find(|run| run.id == id)
    }

    pub(super) fn configuration(&self, id: &str) -> Option<&Configuration> {
        self.configurations.iter().find(|known| known.id == id)
    }

    pub(super) fn configuration_mut(&mut self, id: &str) -> Option<&mut Configuration> {
        self.configurations.iter_mut().find(|known| known.id == id)
    }

    /// The newest state of a workspace.
    pub(super) fn current_state(&self, workspace: &str) -> Option<&StateVersion> {
        let mut states = self.state_versions.iter().rev();
        states.find(|state| state.workspace == workspace)
    }

    /// Removes a workspace with everything below it.
    pub(super) fn remove_workspace(&mut self, id: &str) {
        self.workspaces.retain(|workspace| workspace.id != id);
        self.runs.retain(|run| run.workspace != id);
        self.configurations.retain(|known| known.workspace != id);
        self.state_versions.retain(|state| state.workspace != id);
    }

    /// The oldest run of a workspace that has not ended and does not only plan.
    pub(super) fn first_in_queue(&self, workspace: &str) -> Option<&Run> {
        let mut queue = self.runs.iter();
        queue.find(|run| run.workspace == workspace && !run.plan_only && !run.status.is_end())
    }

    /// Ends a run, unless it has ended, and unlocks its workspace.
    pub(super) fn end_run(&mut self, id: &str, end: Phase) {
        let Some(run) = self.run_mut(id).filter(|run| !run.status.is_end()) else {
            return;
        };
        run.enter(end);
        run.end_stages();
        let workspace = run.workspace.clone();
        let ended = Lock::Run(id.to_owned());
        if let Some(workspace) = self.workspace_mut(&workspace)
            && workspace.lock.as_ref() == Some(&ended)
        {
            workspace.lock = None;
        }
    }
}
