//! Tasks, their states and events.

use std::time::Duration;

use chrono::TimeDelta;
use cts_core::{
    Blocked, CloudExecution, CloudWorkspace, CurrentState, DraftBufferPeriod, DraftWorkspace, Loss,
    TaskDraft, TaskOrigin, TaskPhase, TaskSpec, TaskStatus,
};
use cts_proto::task::v1 as proto;

use super::draft::draft_to_wire;
use super::expression::expression_text;
use super::macros::{same_fields, same_words};
use super::timestamp_to_wire;

/// A stored task for the wire. Its revision and its phase are for the caller to add.
pub fn task_from_spec(spec: &TaskSpec, origin: TaskOrigin) -> proto::Task {
    proto::Task {
        origin: match origin {
            TaskOrigin::Config => proto::TaskOrigin::Config,
            TaskOrigin::Api => proto::TaskOrigin::Api,
        }
        .into(),
        ..draft_to_wire(draft_of(spec))
    }
}

/// Returns the declaration of a task, as far as the API shows it; without the rule of approval, which depends on settings
/// in force.
fn draft_of(spec: &TaskSpec) -> TaskDraft {
    let definition = spec.definition.clone();
    let providers = definition.providers.iter();
    let variables = definition.variables.iter();
    TaskDraft {
        name: definition.name.to_string(),
        description: definition.description,
        enabled: spec.enabled,
        module: definition.module,
        version: definition.version,
        providers: providers.map(ToString::to_string).collect(),
        outputs: definition.outputs,
        condition: definition.condition,
        module_inputs: definition.module_inputs,
        lists_services: !definition.services.is_empty(),
        variables: variables
            .map(|(name, value)| (name.clone(), expression_text(value)))
            .collect(),
        buffer_period: spec.buffer_setting.map(|setting| DraftBufferPeriod {
            enabled: setting.enabled,
            min: setting.min.map(delta),
            max: setting.max.map(delta),
        }),
        terraform_version: String::new(),
        workspace: definition.workspace.map(workspace),
        // The default is left out.
        on_delete: (!spec.on_delete.is_retain()).then_some(spec.on_delete),
        approval: None,
    }
}

fn delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}

fn workspace(workspace: CloudWorkspace) -> DraftWorkspace {
    let (mode, id, name) = match workspace.execution {
        CloudExecution::Remote => ("remote", String::new(), String::new()),
        CloudExecution::AgentPoolId(id) => ("agent", id, String::new()),
        CloudExecution::AgentPoolName(name) => ("agent", String::new(), name),
    };
    DraftWorkspace {
        execution_mode: mode.to_owned(),
        agent_pool_id: id,
        agent_pool_name: name,
        terraform_version: workspace.terraform_version.unwrap_or_default(),
    }
}

/// A task's phase for the wire. Discarded tasks are hidden, like those being created.
pub const fn phase_to_wire(phase: TaskPhase) -> proto::TaskPhase {
    match phase {
        TaskPhase::Creating | TaskPhase::Discarded => proto::TaskPhase::Creating,
        TaskPhase::Ready => proto::TaskPhase::Ready,
        TaskPhase::Deleting => proto::TaskPhase::Deleting,
    }
}

same_words!(CurrentState, CurrentStateName, pub current_state_to_wire, pub current_state_from_wire {
    Running, Waiting, Queued, Retrying, Blocked, Blind, Disabled, Deleting, NeverRun, Successful, Errored, Critical
});
same_words!(TaskStatus, TaskStatus, pub task_status_to_wire, pub task_status_from_wire { Successful, Errored, Critical, Unknown });
same_fields!(Loss, Loss, loss_to_wire, pub loss_from_wire { service, applied, now });

/// Converts an input that the shrink limit or the brake of the fleet holds back for the wire.
pub fn blocked_to_wire(blocked: Blocked) -> proto::Hold {
    let losses = blocked.losses.into_iter();
    proto::Hold {
        by_brake: blocked.brake.is_some(),
        since: Some(timestamp_to_wire(blocked.since)),
        losses: losses.map(loss_to_wire).collect(),
    }
}
