//! Declarations of tasks: fields, conditions and module inputs, in both directions.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use cts_core::{
    ApprovalRule, CatalogServicesCondition, Condition, ConsulKvCondition, DraftBufferPeriod,
    DraftWorkspace, KvQuery, ModuleInput, OnDelete, ScheduleCondition, ServicesCondition,
    ServicesQuery, TaskDraft,
};
use cts_proto::task::v1 as proto;

use super::macros::{same_fields, same_words};
use super::{ConversionError, invalid};

/// A declared task from the wire. Only what no client of the REST API can send is an error.
pub fn draft_from_wire(task: proto::Task) -> Result<TaskDraft, ConversionError> {
    Ok(TaskDraft {
        name: task.name,
        description: task.description,
        enabled: task.enabled,
        module: task.module,
        version: task.version,
        providers: task.providers,
        outputs: task.outputs,
        condition: condition_from_wire(task.condition)?,
        module_inputs: task
            .module_inputs
            .into_iter()
            .map(module_input_from_wire)
            .collect::<Result<_, _>>()?,
        lists_services: task.lists_services,
        variables: task.variables,
        buffer_period: task.buffer_period.map(buffer_from_wire).transpose()?,
        terraform_version: task.terraform_version,
        workspace: task.terraform_cloud_workspace.map(workspace_from_wire),
        on_delete: on_delete_from_wire(task.on_delete)?,
        approval: approval_from_wire(&task.approval)?,
    })
}

/// A declared task for the wire.
pub fn draft_to_wire(draft: TaskDraft) -> proto::Task {
    let on_delete = draft.on_delete.map(known_on_delete_to_wire);
    proto::Task {
        name: draft.name,
        description: draft.description,
        enabled: draft.enabled,
        module: draft.module,
        version: draft.version,
        providers: draft.providers,
        outputs: draft.outputs,
        condition: Some(condition_to_wire(draft.condition)),
        module_inputs: draft
            .module_inputs
            .into_iter()
            .map(module_input_to_wire)
            .collect(),
        variables: draft.variables,
        buffer_period: draft.buffer_period.map(|period| proto::BufferPeriod {
            enabled: period.enabled,
            min: period.min.map(delta_to_wire),
            max: period.max.map(delta_to_wire),
        }),
        lists_services: draft.lists_services,
        terraform_version: draft.terraform_version,
        terraform_cloud_workspace: draft.workspace.map(workspace_to_wire),
        on_delete: on_delete.unwrap_or_default().into(),
        approval: draft.approval.map_or("", ApprovalRule::as_str).to_owned(),
        ..proto::Task::default()
    }
}

same_words!(
    OnDelete,
    OnDelete,
    known_on_delete_to_wire,
    known_on_delete { Retain, Destroy }
);
same_fields!(
    DraftWorkspace,
    TerraformCloudWorkspace,
    workspace_to_wire,
    workspace_from_wire {
        execution_mode,
        agent_pool_id,
        agent_pool_name,
        terraform_version,
    }
);
same_fields!(
    CatalogServicesCondition,
    CatalogServicesCondition,
    catalog_to_wire,
    catalog_from_wire {
        regexp,
        datacenter,
        namespace,
        node_meta,
        use_as_module_input,
    }
);
same_fields!(
    ScheduleCondition,
    ScheduleCondition,
    schedule_to_wire,
    schedule_from_wire { cron }
);
same_fields!(
    KvQuery,
    KvQuery,
    kv_to_wire,
    kv_from_wire {
        path,
        recurse,
        datacenter,
        namespace
    }
);

fn on_delete_from_wire(on_delete: i32) -> Result<Option<OnDelete>, ConversionError> {
    let known = proto::OnDelete::try_from(on_delete).map(known_on_delete);
    known.map_err(|_unknown| invalid("Task.on_delete", &on_delete))
}

fn approval_from_wire(approval: &str) -> Result<Option<ApprovalRule>, ConversionError> {
    if approval.is_empty() {
        return Ok(None);
    }
    let rule = approval.parse::<ApprovalRule>().map(Some);
    rule.map_err(|_unknown| invalid("Task.approval", &approval))
}

fn condition_to_wire(condition: Condition) -> proto::Condition {
    use proto::condition::Kind;
    let kind = match condition {
        Condition::NoCondition => None,
        Condition::Services(services) => Some(Kind::Services(proto::ServicesCondition {
            names: services.query.names,
            datacenter: services.query.datacenter,
            namespace: services.query.namespace,
            filter: services.query.filter,
            cts_user_defined_meta: services.query.cts_user_defined_meta,
            use_as_module_input: services.use_as_module_input,
            regexp: services.query.regexp,
        })),
        Condition::CatalogServices(services) => {
            Some(Kind::CatalogServices(catalog_to_wire(services)))
        }
        Condition::ConsulKv(pairs) => Some(Kind::ConsulKv(proto::ConsulKvCondition {
            query: Some(kv_to_wire(pairs.query)),
            use_as_module_input: pairs.use_as_module_input,
        })),
        Condition::Schedule(schedule) => Some(Kind::Schedule(schedule_to_wire(schedule))),
    };
    proto::Condition { kind }
}

fn module_input_to_wire(input: ModuleInput) -> proto::ModuleInput {
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

fn condition_from_wire(condition: Option<proto::Condition>) -> Result<Condition, ConversionError> {
    use proto::condition::Kind;
    Ok(match condition.and_then(|condition| condition.kind) {
        None => Condition::NoCondition,
        Some(Kind::Services(services)) => Condition::Services(ServicesCondition {
            query: ServicesQuery {
                names: services.names,
                regexp: services.regexp,
                datacenter: services.datacenter,
                namespace: services.namespace,
                filter: services.filter,
                cts_user_defined_meta: services.cts_user_defined_meta,
                declared: BTreeMap::new(),
            },
            use_as_module_input: services.use_as_module_input,
        }),
        Some(Kind::CatalogServices(services)) => {
            Condition::CatalogServices(catalog_from_wire(services))
        }
        Some(Kind::ConsulKv(pairs)) => Condition::ConsulKv(ConsulKvCondition {
            query: kv_from_wire(pairs.query.ok_or(ConversionError::Missing {
                field: "ConsulKvCondition.query",
            })?),
            use_as_module_input: pairs.use_as_module_input,
        }),
        Some(Kind::Schedule(schedule)) => Condition::Schedule(schedule_from_wire(schedule)),
    })
}

fn module_input_from_wire(input: proto::ModuleInput) -> Result<ModuleInput, ConversionError> {
    use proto::module_input::Kind;
    match input.kind {
        Some(Kind::Services(services)) => Ok(ModuleInput::Services(ServicesQuery {
            names: services.names,
            regexp: services.regexp,
            datacenter: services.datacenter,
            namespace: services.namespace,
            filter: services.filter,
            cts_user_defined_meta: services.cts_user_defined_meta,
            declared: BTreeMap::new(),
        })),
        Some(Kind::ConsulKv(query)) => Ok(ModuleInput::ConsulKv(kv_from_wire(query))),
        None => Err(ConversionError::Missing {
            field: "ModuleInput.kind",
        }),
    }
}

fn buffer_from_wire(period: proto::BufferPeriod) -> Result<DraftBufferPeriod, ConversionError> {
    let time = |duration: Option<prost_types::Duration>, field| {
        duration.map(|duration| delta(duration, field)).transpose()
    };
    Ok(DraftBufferPeriod {
        enabled: period.enabled,
        min: time(period.min, "BufferPeriod.min")?,
        max: time(period.max, "BufferPeriod.max")?,
    })
}

fn delta(
    duration: prost_types::Duration,
    field: &'static str,
) -> Result<TimeDelta, ConversionError> {
    TimeDelta::try_seconds(duration.seconds)
        .and_then(|seconds| seconds.checked_add(&TimeDelta::nanoseconds(duration.nanos.into())))
        .ok_or_else(|| invalid(field, &duration.seconds))
}

fn delta_to_wire(delta: TimeDelta) -> prost_types::Duration {
    prost_types::Duration {
        seconds: delta.num_seconds(),
        nanos: delta.subsec_nanos(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn services_condition() -> Condition {
        Condition::Services(ServicesCondition {
            query: ServicesQuery {
                names: vec!["web".into()],
                regexp: None,
                datacenter: "dc1".into(),
                namespace: "team".into(),
                filter: "Node.Meta.x == y".into(),
                cts_user_defined_meta: BTreeMap::from([("a".into(), "b".into())]),
                declared: BTreeMap::new(),
            },
            use_as_module_input: true,
        })
    }

    fn query() -> KvQuery {
        KvQuery {
            path: "edge/acl".into(),
            recurse: true,
            datacenter: "dc2".into(),
            namespace: "other".into(),
        }
    }

    fn draft() -> TaskDraft {
        TaskDraft {
            name: "edge lb".into(),
            description: "free text".into(),
            enabled: true,
            module: "./lb".into(),
            version: "1.2.3".into(),
            providers: vec!["bigip.east".into(), "bigip".into()],
            outputs: vec!["address".into()],
            condition: services_condition(),
            module_inputs: vec![
                ModuleInput::Services(ServicesQuery {
                    names: vec!["api".into()],
                    regexp: Some("^a".into()),
                    ..ServicesQuery::default()
                }),
                ModuleInput::ConsulKv(query()),
            ],
            lists_services: true,
            variables: BTreeMap::from([("region".into(), "\"eu\"".into())]),
            buffer_period: Some(DraftBufferPeriod {
                enabled: Some(true),
                min: Some(TimeDelta::milliseconds(-1500)),
                max: Some(TimeDelta::milliseconds(1500)),
            }),
            terraform_version: "1.2.3".into(),
            workspace: Some(DraftWorkspace {
                execution_mode: "agent".into(),
                agent_pool_id: "apool".into(),
                agent_pool_name: "pool".into(),
                terraform_version: "1.9.0".into(),
            }),
            on_delete: Some(OnDelete::Destroy),
            approval: Some(ApprovalRule::Always),
        }
    }

    #[test]
    fn drafts_survive_the_wire() {
        let conditions = [
            services_condition(),
            Condition::NoCondition,
            Condition::CatalogServices(CatalogServicesCondition {
                regexp: "^web".into(),
                datacenter: "dc1".into(),
                namespace: "team".into(),
                node_meta: BTreeMap::from([("a".into(), "b".into())]),
                use_as_module_input: false,
            }),
            Condition::ConsulKv(ConsulKvCondition {
                query: query(),
                use_as_module_input: true,
            }),
            Condition::Schedule(ScheduleCondition {
                cron: "0 4 * * *".into(),
            }),
        ];
        for condition in conditions {
            let draft = TaskDraft {
                condition,
                ..draft()
            };
            assert_eq!(draft_from_wire(draft_to_wire(draft.clone())), Ok(draft));
        }
    }

    #[test]
    fn refuses_drafts_that_no_api_client_sends() {
        let no_query = proto::Task {
            condition: Some(proto::Condition {
                kind: Some(proto::condition::Kind::ConsulKv(
                    proto::ConsulKvCondition::default(),
                )),
            }),
            ..proto::Task::default()
        };
        let no_kind = proto::Task {
            module_inputs: vec![proto::ModuleInput { kind: None }],
            ..proto::Task::default()
        };
        let endless = proto::Task {
            buffer_period: Some(proto::BufferPeriod {
                min: Some(prost_types::Duration {
                    seconds: i64::MAX,
                    nanos: 0,
                }),
                ..proto::BufferPeriod::default()
            }),
            ..proto::Task::default()
        };
        for task in [no_query, no_kind, endless] {
            assert!(draft_from_wire(task.clone()).is_err(), "{task:?}");
        }
    }
}
