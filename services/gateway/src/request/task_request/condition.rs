//! Conditions and module inputs in the task objects of requests (docs/rest.md#task-objects).

use cts_core::{
    CatalogServicesCondition, Condition, ConsulKvCondition, KvQuery, ModuleInput,
    ScheduleCondition, ServicesCondition, ServicesQuery,
};
use serde::Deserialize;

/// The condition of a request.
#[derive(Debug, Deserialize)]
pub(super) struct ConditionMembers {
    services: Option<ServicesCondition>,
    consul_kv: Option<KvMembers>,
    catalog_services: Option<CatalogServicesCondition>,
    schedule: Option<ScheduleCondition>,
}

/// The module inputs of a request.
#[derive(Debug, Deserialize)]
pub(super) struct ModuleInputMembers {
    services: Option<ServicesQuery>,
    consul_kv: Option<KvQuery>,
}

#[derive(Debug, Deserialize)]
struct KvMembers {
    #[serde(flatten)]
    query: KvQuery,
    use_as_module_input: bool,
}

impl ConditionMembers {
    /// If several kinds are given, the first of this order counts.
    pub(super) fn into_condition(self) -> Condition {
        let services = self.services.map(|mut services| {
            if !services.query.names.is_empty() {
                services.query.regexp = None;
            }
            Condition::Services(services)
        });
        let pairs = self.consul_kv.map(|pairs| {
            Condition::ConsulKv(ConsulKvCondition {
                query: pairs.query,
                use_as_module_input: pairs.use_as_module_input,
            })
        });
        let catalog = self.catalog_services.map(Condition::CatalogServices);
        let schedule = self.schedule.map(Condition::Schedule);
        let condition = services.or(pairs).or(catalog).or(schedule);
        condition.unwrap_or_default()
    }
}

impl ModuleInputMembers {
    pub(super) fn into_inputs(self) -> Vec<ModuleInput> {
        let services = self.services.map(ModuleInput::Services);
        let pairs = self.consul_kv.map(ModuleInput::ConsulKv);
        services.into_iter().chain(pairs).collect()
    }
}
