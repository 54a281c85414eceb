//! The task object of requests after it was checked against the schema, and its way to the wire.

use std::collections::BTreeMap;

use cts_core::go;
use cts_proto::task::v1 as proto;
use serde::Deserialize;

use super::SentMembers;

type Texts = BTreeMap<String, String>;

/// Values that may be `null`, which is as if the key was not there.
type NullableTexts = BTreeMap<String, Option<String>>;

/// The task. Where the schema has a default, the member is there.
#[derive(Debug, Deserialize)]
pub(super) struct TaskMembers {
    name: String,
    module: String,
    condition: ConditionMembers,
    description: Option<String>,
    enabled: bool,
    providers: Option<Vec<String>>,
    variables: Option<Texts>,
    version: Option<String>,
    module_input: Option<ModuleInputMembers>,
    buffer_period: Option<BufferPeriodMembers>,
    terraform_version: Option<String>,
    terraform_cloud_workspace: Option<WorkspaceMembers>,
}

#[derive(Debug, Deserialize)]
struct ConditionMembers {
    services: Option<ServicesMembers>,
    consul_kv: Option<KvMembers>,
    catalog_services: Option<CatalogServicesMembers>,
    schedule: Option<ScheduleMembers>,
}

#[derive(Debug, Deserialize)]
struct ModuleInputMembers {
    services: Option<ServicesMembers>,
    consul_kv: Option<KvMembers>,
}

/// `use_as_module_input` in conditions only.
#[derive(Debug, Deserialize)]
struct ServicesMembers {
    #[serde(default)]
    names: Vec<String>,
    regexp: Option<String>,
    #[serde(default)]
    datacenter: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    filter: String,
    cts_user_defined_meta: Option<NullableTexts>,
    #[serde(default)]
    use_as_module_input: bool,
}

#[derive(Debug, Deserialize)]
struct CatalogServicesMembers {
    regexp: String,
    #[serde(default)]
    datacenter: String,
    #[serde(default)]
    namespace: String,
    node_meta: Option<Texts>,
    use_as_module_input: bool,
}

/// `use_as_module_input` in conditions only.
#[derive(Debug, Deserialize)]
struct KvMembers {
    path: String,
    recurse: bool,
    #[serde(default)]
    datacenter: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    use_as_module_input: bool,
}

#[derive(Debug, Deserialize)]
struct ScheduleMembers {
    cron: String,
}

#[derive(Debug, Deserialize)]
struct BufferPeriodMembers {
    enabled: Option<bool>,
    min: Option<String>,
    max: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WorkspaceMembers {
    #[serde(default)]
    execution_mode: String,
    #[serde(default)]
    agent_pool_id: String,
    #[serde(default)]
    agent_pool_name: String,
    #[serde(default)]
    terraform_version: String,
}

impl TaskMembers {
    pub(super) fn sent(&self) -> SentMembers {
        SentMembers {
            description: self.description.is_some(),
            providers: self.providers.is_some(),
            variables: self.variables.is_some(),
            version: self.version.is_some(),
            module_input: self.module_input.is_some(),
        }
    }

    /// The texts that should be durations.
    pub(super) fn durations(&self) -> impl Iterator<Item = &str> {
        let period = self.buffer_period.as_ref();
        let texts = period.map(|period| [period.min.as_deref(), period.max.as_deref()]);
        texts.into_iter().flatten().flatten()
    }

    /// The task for the scheduler. A text that is no duration becomes none at all.
    pub(super) fn into_wire(self) -> proto::Task {
        proto::Task {
            name: self.name,
            description: self.description.unwrap_or_default(),
            enabled: self.enabled,
            module: self.module,
            version: self.version.unwrap_or_default(),
            providers: self.providers.unwrap_or_default(),
            condition: Some(self.condition.into_wire()),
            variables: self.variables.unwrap_or_default(),
            buffer_period: self.buffer_period.map(BufferPeriodMembers::into_wire),
            module_inputs: self
                .module_input
                .map(ModuleInputMembers::into_wire)
                .unwrap_or_default(),
            terraform_version: self.terraform_version.unwrap_or_default(),
            terraform_cloud_workspace: self
                .terraform_cloud_workspace
                .map(WorkspaceMembers::into_wire),
            ..proto::Task::default()
        }
    }
}

impl ConditionMembers {
    /// Of several kinds the first of this order counts.
    fn into_wire(self) -> proto::Condition {
        use proto::condition::Kind;
        let services = self.services.map(|services| {
            let meta = services.meta();
            let by_names = !services.names.is_empty();
            Kind::Services(proto::ServicesCondition {
                names: services.names,
                datacenter: services.datacenter,
                namespace: services.namespace,
                filter: services.filter,
                cts_user_defined_meta: meta,
                use_as_module_input: services.use_as_module_input,
                regexp: services.regexp.filter(|_| !by_names),
            })
        });
        let pairs = self.consul_kv.map(|pairs| {
            Kind::ConsulKv(proto::ConsulKvCondition {
                use_as_module_input: pairs.use_as_module_input,
                query: Some(pairs.into_wire()),
            })
        });
        let catalog = self.catalog_services.map(|services| {
            Kind::CatalogServices(proto::CatalogServicesCondition {
                regexp: services.regexp,
                datacenter: services.datacenter,
                namespace: services.namespace,
                node_meta: services.node_meta.unwrap_or_default(),
                use_as_module_input: services.use_as_module_input,
            })
        });
        let schedule = self.schedule.map(|schedule| {
            Kind::Schedule(proto::ScheduleCondition {
                cron: schedule.cron,
            })
        });
        proto::Condition {
            kind: services.or(pairs).or(catalog).or(schedule),
        }
    }
}

impl ModuleInputMembers {
    fn into_wire(self) -> Vec<proto::ModuleInput> {
        use proto::module_input::Kind;
        let services = self.services.map(|services| {
            Kind::Services(proto::ServicesInput {
                cts_user_defined_meta: services.meta(),
                names: services.names,
                regexp: services.regexp,
                datacenter: services.datacenter,
                namespace: services.namespace,
                filter: services.filter,
            })
        });
        let pairs = self
            .consul_kv
            .map(|pairs| Kind::ConsulKv(pairs.into_wire()));
        services
            .into_iter()
            .chain(pairs)
            .map(|kind| proto::ModuleInput { kind: Some(kind) })
            .collect()
    }
}

impl ServicesMembers {
    fn meta(&self) -> Texts {
        let meta = self.cts_user_defined_meta.iter().flatten();
        meta.filter_map(|(key, value)| Some((key.clone(), value.clone()?)))
            .collect()
    }
}

impl KvMembers {
    fn into_wire(self) -> proto::KvQuery {
        proto::KvQuery {
            path: self.path,
            recurse: self.recurse,
            datacenter: self.datacenter,
            namespace: self.namespace,
        }
    }
}

impl BufferPeriodMembers {
    /// What is missing is zero, not the default (docs/compatibility.md#api).
    fn into_wire(self) -> proto::BufferPeriod {
        let time = |text: Option<String>| {
            let nanos = text.as_deref().and_then(go::parse_duration);
            let nanos = nanos.unwrap_or_default();
            Some(prost_types::Duration {
                seconds: nanos / 1_000_000_000,
                nanos: i32::try_from(nanos % 1_000_000_000).unwrap_or_default(),
            })
        };
        proto::BufferPeriod {
            enabled: self.enabled,
            min: time(self.min),
            max: time(self.max),
        }
    }
}

impl WorkspaceMembers {
    fn into_wire(self) -> proto::TerraformCloudWorkspace {
        proto::TerraformCloudWorkspace {
            execution_mode: self.execution_mode,
            agent_pool_id: self.agent_pool_id,
            agent_pool_name: self.agent_pool_name,
            terraform_version: self.terraform_version,
        }
    }
}
