//! Tasks, their states and events.

use cts_core::{
    BufferSetting, Condition, Event, EventConfig, ServicesCondition, TaskOrigin, TaskSpec,
    TaskStatus,
};
use cts_proto::task::v1 as proto;

use super::time::{duration_to_wire, timestamp_from_wire, timestamp_to_wire};
use super::{ConversionError, invalid};

/// A declared task for the wire.
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
    }
}

fn condition_to_wire(condition: Condition) -> proto::Condition {
    let kind = match condition {
        Condition::Services(services) => {
            let ServicesCondition {
                names,
                datacenter,
                namespace,
                filter,
                cts_user_defined_meta,
                use_as_module_input,
            } = services;
            proto::condition::Kind::Services(proto::ServicesCondition {
                names,
                datacenter,
                namespace,
                filter,
                cts_user_defined_meta,
                use_as_module_input,
            })
        }
    };
    proto::Condition { kind: Some(kind) }
}

fn buffer_to_wire(setting: BufferSetting) -> proto::BufferPeriod {
    proto::BufferPeriod {
        enabled: setting.enabled,
        min: setting.min.map(duration_to_wire),
        max: setting.max.map(duration_to_wire),
    }
}

/// The text of an HCL expression with this value (spec/api.md 9).
fn expression_text(value: &serde_json::Value) -> String {
    let plain = || value.to_string();
    match hcl::to_expression(value) {
        Ok(expression) => hcl::format::to_string(&expression).unwrap_or_else(|_error| plain()),
        Err(_error) => plain(),
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
        error: event.error,
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
