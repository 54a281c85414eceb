//! Tasks, their states and events.

use cts_core::runs::{ERRORS_BYTES, shortened};
use cts_core::{
    BufferSetting, CloudExecution, CloudWorkspace, Condition, Event, EventConfig, KvQuery,
    ModuleInput, ScheduleCondition, ServicesCondition, TaskOrigin, TaskPhase, TaskSpec, TaskStatus,
};
use cts_proto::task::v1 as proto;
use hcl::format::{Format as _, Formatter};

use super::time::{duration_to_wire, timestamp_from_wire, timestamp_to_wire};
use super::{ConversionError, invalid};

/// A declared task for the wire. Its revision and its phase are for the caller to add.
pub fn task_from_spec(spec: &TaskSpec, origin: TaskOrigin) -> proto::Task {
    let definition = spec.definition.clone();
    proto::Task {
        name: definition.name.to_string(),
        description: definition.description,
        enabled: spec.enabled,
        module: definition.module,
        version: definition.version,
        providers: definition
            .providers
            .iter()
            .map(ToString::to_string)
            .collect(),
        condition: Some(condition_to_wire(definition.condition)),
        module_inputs: definition
            .module_inputs
            .into_iter()
            .map(module_input_to_wire)
            .collect(),
        variables: definition
            .variables
            .into_iter()
            .map(|(name, value)| (name, expression_text(&value)))
            .collect(),
        buffer_period: spec.buffer_setting.map(buffer_to_wire),
        origin: match origin {
            TaskOrigin::Config => proto::TaskOrigin::Config,
            TaskOrigin::Api => proto::TaskOrigin::Api,
        }
        .into(),
        revision: 0,
        phase: proto::TaskPhase::Unspecified.into(),
        terraform_version: String::new(),
        terraform_cloud_workspace: definition.workspace.map(workspace_to_wire),
    }
}

fn workspace_to_wire(workspace: CloudWorkspace) -> proto::TerraformCloudWorkspace {
    let (mode, id, name) = match workspace.execution {
        CloudExecution::Remote => ("remote", String::new(), String::new()),
        CloudExecution::AgentPoolId(id) => ("agent", id, String::new()),
        CloudExecution::AgentPoolName(name) => ("agent", String::new(), name),
    };
    proto::TerraformCloudWorkspace {
        execution_mode: mode.to_owned(),
        agent_pool_id: id,
        agent_pool_name: name,
        terraform_version: workspace.terraform_version.unwrap_or_default(),
    }
}

pub(super) fn condition_to_wire(condition: Condition) -> proto::Condition {
    use proto::condition::Kind;
    let kind = match condition {
        Condition::NoCondition => None,
        Condition::Services(services) => Some(Kind::Services(services_to_wire(services))),
        Condition::CatalogServices(services) => {
            Some(Kind::CatalogServices(proto::CatalogServicesCondition {
                regexp: services.regexp,
                datacenter: services.datacenter,
                namespace: services.namespace,
                node_meta: services.node_meta,
                use_as_module_input: services.use_as_module_input,
            }))
        }
        Condition::ConsulKv(pairs) => Some(Kind::ConsulKv(proto::ConsulKvCondition {
            query: Some(kv_to_wire(pairs.query)),
            use_as_module_input: pairs.use_as_module_input,
        })),
        Condition::Schedule(ScheduleCondition { cron }) => {
            Some(Kind::Schedule(proto::ScheduleCondition { cron }))
        }
    };
    proto::Condition { kind }
}

fn services_to_wire(services: ServicesCondition) -> proto::ServicesCondition {
    proto::ServicesCondition {
        names: services.names,
        datacenter: services.datacenter,
        namespace: services.namespace,
        filter: services.filter,
        cts_user_defined_meta: services.cts_user_defined_meta,
        use_as_module_input: services.use_as_module_input,
        regexp: services.regexp,
    }
}

fn kv_to_wire(query: KvQuery) -> proto::KvQuery {
    proto::KvQuery {
        path: query.path,
        recurse: query.recurse,
        datacenter: query.datacenter,
        namespace: query.namespace,
    }
}

pub(super) fn module_input_to_wire(input: ModuleInput) -> proto::ModuleInput {
    use proto::module_input::Kind;
    let kind = match input {
        ModuleInput::Services(services) => Kind::Services(proto::ServicesInput {
            names: services.names,
            regexp: services.regexp,
            datacenter: services.datacenter,
            namespace: services.namespace,
            filter: services.filter,
            cts_user_defined_meta: services.cts_user_defined_meta,
        }),
        ModuleInput::ConsulKv(query) => Kind::ConsulKv(kv_to_wire(query)),
    };
    proto::ModuleInput { kind: Some(kind) }
}

fn buffer_to_wire(setting: BufferSetting) -> proto::BufferPeriod {
    proto::BufferPeriod {
        enabled: setting.enabled,
        min: setting.min.map(duration_to_wire),
        max: setting.max.map(duration_to_wire),
    }
}

/// The text of an HCL expression with this value (docs/rest.md#task-objects).
fn expression_text(value: &serde_json::Value) -> String {
    let formatted = hcl::to_expression(value).and_then(|expression| {
        let mut formatter = Formatter::builder().compact(true).build_vec();
        expression.format_string(&mut formatter)
    });
    formatted.unwrap_or_else(|_error| value.to_string())
}

/// A task's phase for the wire. Discarded tasks are hidden, like those being created.
pub const fn phase_to_wire(phase: TaskPhase) -> proto::TaskPhase {
    match phase {
        TaskPhase::Creating | TaskPhase::Discarded => proto::TaskPhase::Creating,
        TaskPhase::Ready => proto::TaskPhase::Ready,
        TaskPhase::Deleting => proto::TaskPhase::Deleting,
    }
}

/// A task's status for the wire.
pub fn task_status_to_wire(status: TaskStatus) -> proto::TaskStatus {
    match status {
        TaskStatus::Successful => proto::TaskStatus::Successful,
        TaskStatus::Errored => proto::TaskStatus::Errored,
        TaskStatus::Critical => proto::TaskStatus::Critical,
        TaskStatus::Unknown => proto::TaskStatus::Unknown,
    }
}

/// A task's status from the wire; `None` if it is not set.
pub fn task_status_from_wire(status: proto::TaskStatus) -> Option<TaskStatus> {
    match status {
        proto::TaskStatus::Unspecified => None,
        proto::TaskStatus::Successful => Some(TaskStatus::Successful),
        proto::TaskStatus::Errored => Some(TaskStatus::Errored),
        proto::TaskStatus::Critical => Some(TaskStatus::Critical),
        proto::TaskStatus::Unknown => Some(TaskStatus::Unknown),
    }
}

/// An event for the wire.
pub fn event_to_wire(event: Event) -> proto::Event {
    proto::Event {
        id: event.id.to_string(),
        task_name: event.task_name.into(),
        run_id: event.run_id.to_string(),
        success: event.success,
        start_time: Some(timestamp_to_wire(event.start_time)),
        end_time: Some(timestamp_to_wire(event.end_time)),
        // One that was stored when more was kept would not fit into a message.
        error: event.error.map(|error| shortened(&error, ERRORS_BYTES)),
        providers: event.config.providers,
        services: event.config.services,
        source: event.config.source,
    }
}

/// An event from the wire.
pub fn event_from_wire(event: proto::Event) -> Result<Event, ConversionError> {
    let start_time =
        timestamp_from_wire(event.start_time.as_ref()).ok_or(ConversionError::Missing {
            field: "Event.start_time",
        })?;
    let end_time =
        timestamp_from_wire(event.end_time.as_ref()).ok_or(ConversionError::Missing {
            field: "Event.end_time",
        })?;
    Ok(Event {
        id: event
            .id
            .parse()
            .map_err(|_not_a_uuid| invalid("Event.id", &event.id))?,
        run_id: event
            .run_id
            .parse()
            .map_err(|_not_a_uuid| invalid("Event.run_id", &event.run_id))?,
        task_name: event
            .task_name
            .parse()
            .map_err(|_not_a_name| invalid("Event.task_name", &event.task_name))?,
        success: event.success,
        start_time,
        end_time,
        error: event.error,
        config: EventConfig {
            providers: event.providers,
            services: event.services,
            source: event.source,
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_show_as_expressions() {
        assert_eq!(
            expression_text(&json!("eu \"west\" ${x}")),
            r#""eu \"west\" $${x}""#
        );
        assert_eq!(expression_text(&json!(3)), "3");
        assert_eq!(expression_text(&json!(true)), "true");
        assert_eq!(expression_text(&json!(null)), "null");
    }
}
