//! Conditions and module inputs in task objects (docs/rest.md#task-objects).

use std::collections::BTreeMap;

use cts_proto::task::v1::condition::Kind;
use cts_proto::task::v1::module_input::Kind as InputKind;
use cts_proto::task::v1::{self as proto, KvQuery};
use serde::Serialize;

/// At most one member; `{}` for a task that nothing triggers.
#[derive(Debug, Default, Serialize)]
pub(super) struct ConditionObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    catalog_services: Option<CatalogServicesObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consul_kv: Option<KvObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<ScheduleObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    services: Option<ServicesObject<'a>>,
}

/// `{}` for a task whose module gets nothing beside the condition.
#[derive(Debug, Default, Serialize)]
pub(super) struct ModuleInputObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    consul_kv: Option<KvObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    services: Option<ServicesObject<'a>>,
}

/// Either `names` or `regexp` is there; `use_as_module_input` in conditions only.
#[derive(Debug, Serialize)]
struct ServicesObject<'a> {
    cts_user_defined_meta: &'a BTreeMap<String, String>,
    datacenter: &'a str,
    filter: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<&'a [String]>,
    namespace: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    regexp: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    use_as_module_input: Option<bool>,
}

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

#[derive(Debug, Serialize)]
struct ScheduleObject<'a> {
    cron: &'a str,
}

impl<'a> ConditionObject<'a> {
    pub(super) fn of(condition: Option<&'a proto::Condition>) -> Self {
        let mut object = Self::default();
        match condition.and_then(|condition| condition.kind.as_ref()) {
            None => {}
            Some(Kind::Services(services)) => {
                object.services = Some(ServicesObject {
                    use_as_module_input: Some(services.use_as_module_input),
                    cts_user_defined_meta: &services.cts_user_defined_meta,
                    datacenter: &services.datacenter,
                    filter: &services.filter,
                    names: names(&services.names, services.regexp.as_ref()),
                    namespace: &services.namespace,
                    regexp: services.regexp.as_deref(),
                });
            }
            Some(Kind::CatalogServices(services)) => {
                object.catalog_services = Some(CatalogServicesObject {
                    datacenter: &services.datacenter,
                    namespace: &services.namespace,
                    node_meta: &services.node_meta,
                    regexp: &services.regexp,
                    use_as_module_input: services.use_as_module_input,
                });
            }
            Some(Kind::ConsulKv(pairs)) => {
                object.consul_kv = pairs
                    .query
                    .as_ref()
                    .map(|query| KvObject::of(query, Some(pairs.use_as_module_input)));
            }
            Some(Kind::Schedule(schedule)) => {
                object.schedule = Some(ScheduleObject {
                    cron: &schedule.cron,
                });
            }
        }
        object
    }
}

impl<'a> ModuleInputObject<'a> {
    pub(super) fn of(inputs: &'a [proto::ModuleInput]) -> Self {
        let mut object = Self::default();
        for kind in inputs.iter().filter_map(|input| input.kind.as_ref()) {
            match kind {
                InputKind::Services(services) => {
                    object.services = Some(ServicesObject {
                        cts_user_defined_meta: &services.cts_user_defined_meta,
                        datacenter: &services.datacenter,
                        filter: &services.filter,
                        names: names(&services.names, services.regexp.as_ref()),
                        namespace: &services.namespace,
                        regexp: services.regexp.as_deref(),
                        use_as_module_input: None,
                    });
                }
                InputKind::ConsulKv(query) => object.consul_kv = Some(KvObject::of(query, None)),
            }
        }
        object
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

/// Names are left out where an expression takes their place.
fn names<'a>(names: &'a [String], regexp: Option<&String>) -> Option<&'a [String]> {
    regexp.is_none().then_some(names)
}
