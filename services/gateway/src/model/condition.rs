//! Conditions and module inputs in the task objects of answers (docs/rest.md#task-objects).

use std::collections::BTreeMap;

use cts_core::{
    CatalogServicesCondition, Condition, KvQuery, ModuleInput, ScheduleCondition, ServicesQuery,
};
use serde::Serialize;

/// Has at most one member; `{}` for a task without a trigger.
#[derive(Debug, Default, Serialize)]
pub(super) struct ConditionObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    catalog_services: Option<CatalogServicesObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consul_kv: Option<KvObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<&'a ScheduleCondition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    services: Option<ServicesObject<'a>>,
}

/// `{}` for a task whose module has no inputs besides the condition.
#[derive(Debug, Default, Serialize)]
pub(super) struct ModuleInputObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    consul_kv: Option<KvObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    services: Option<ServicesObject<'a>>,
}

/// Has `names` or `regexp`, in inputs possibly neither; `use_as_module_input` in conditions only. The deprecated list
/// of services has no member besides.
#[derive(Debug, Serialize)]
struct ServicesObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cts_user_defined_meta: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    datacenter: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    regexp: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    use_as_module_input: Option<bool>,
}

/// In alphabetical order, as in all answers.
#[derive(Debug, Serialize)]
struct CatalogServicesObject<'a> {
    datacenter: &'a str,
    namespace: &'a str,
    node_meta: &'a BTreeMap<String, String>,
    regexp: &'a str,
    use_as_module_input: bool,
}

#[derive(Debug, Serialize)]
struct KvObject<'a> {
    datacenter: &'a str,
    namespace: &'a str,
    path: &'a str,
    recurse: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    use_as_module_input: Option<bool>,
}

impl<'a> ServicesObject<'a> {
    fn of(query: &'a ServicesQuery, listed: bool, use_as_module_input: Option<bool>) -> Self {
        let text = |text: &'a str| (!listed).then_some(text);
        Self {
            cts_user_defined_meta: (!listed).then_some(&query.cts_user_defined_meta),
            datacenter: text(&query.datacenter),
            filter: text(&query.filter),
            // An expression takes the place of names.
            names: Some(query.names.as_slice())
                .filter(|names| query.regexp.is_none() && !names.is_empty()),
            namespace: text(&query.namespace),
            regexp: query.regexp.as_deref(),
            use_as_module_input,
        }
    }
}

impl<'a> ConditionObject<'a> {
    /// `lists_services` as of a [`TaskDraft`](cts_core::TaskDraft).
    pub(super) fn of(condition: &'a Condition, lists_services: bool) -> Self {
        let mut object = Self::default();
        match condition {
            Condition::NoCondition => {}
            Condition::Services(services) => {
                let is_input = Some(services.use_as_module_input);
                let services = &services.query;
                object.services = Some(ServicesObject::of(services, lists_services, is_input));
            }
            Condition::CatalogServices(services) => {
                object.catalog_services = Some(CatalogServicesObject::of(services));
            }
            Condition::ConsulKv(pairs) => {
                let is_input = Some(pairs.use_as_module_input);
                object.consul_kv = Some(KvObject::of(&pairs.query, is_input));
            }
            Condition::Schedule(schedule) => object.schedule = Some(schedule),
        }
        object
    }
}

impl<'a> ModuleInputObject<'a> {
    /// `lists_services` as of a [`TaskDraft`](cts_core::TaskDraft).
    pub(super) fn of(inputs: &'a [ModuleInput], lists_services: bool) -> Self {
        let mut object = Self::default();
        for input in inputs {
            match input {
                ModuleInput::Services(services) => {
                    object.services = Some(ServicesObject::of(services, lists_services, None));
                }
                ModuleInput::ConsulKv(query) => object.consul_kv = Some(KvObject::of(query, None)),
            }
        }
        object
    }
}

impl<'a> CatalogServicesObject<'a> {
    fn of(services: &'a CatalogServicesCondition) -> Self {
        Self {
            datacenter: &services.datacenter,
            namespace: &services.namespace,
            node_meta: &services.node_meta,
            regexp: &services.regexp,
            use_as_module_input: services.use_as_module_input,
        }
    }
}

impl<'a> KvObject<'a> {
    fn of(query: &'a KvQuery, use_as_module_input: Option<bool>) -> Self {
        Self {
            datacenter: &query.datacenter,
            namespace: &query.namespace,
            path: &query.path,
            recurse: query.recurse,
            use_as_module_input,
        }
    }
}
