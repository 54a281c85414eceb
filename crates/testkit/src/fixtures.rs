//! Tasks and instances with nothing special; a test changes what it is about.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cts_core::{
    BufferPeriod, Condition, FileDefinition, FileSettings, HealthStatus, Labels, OnDelete,
    Requirement, ServiceInstance, ServicesCondition, ServicesQuery, TaskDefinition, TaskName,
    TaskSpec,
};

/// A task on these services, in `/w`, with a local module in `/m`.
pub fn definition(name: &str, services: &[&str]) -> TaskDefinition {
    TaskDefinition {
        module_inputs: Vec::new(),
        services: Vec::new(),
        file_definition: FileDefinition::default(),
        outputs: Vec::new(),
        workspace: None,
        name: TaskName::new(name).expect("a name of a task"),
        description: String::new(),
        module: "./m".into(),
        module_source: "/m".into(),
        module_digest: None,
        bundle: None,
        version: String::new(),
        providers: Vec::new(),
        condition: Condition::Services(self::services(services)),
        variables: BTreeMap::new(),
        working_dir: PathBuf::from("/w"),
    }
}

/// The condition on these services.
pub fn services(names: &[&str]) -> ServicesCondition {
    ServicesCondition {
        query: ServicesQuery {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            ..ServicesQuery::default()
        },
        use_as_module_input: true,
    }
}

/// That task, enabled and not buffered.
pub fn task(name: &str, services: &[&str]) -> TaskSpec {
    TaskSpec {
        definition: definition(name, services),
        enabled: true,
        buffer_setting: None,
        buffer_period: BufferPeriod::DISABLED,
        file_settings: FileSettings::default(),
        on_delete: OnDelete::default(),
        api_approval: None,
        requirement: Requirement::default(),
    }
}

/// A passing instance on node `n` of `dc1`.
pub fn instance(service: &str, id: &str, port: i64) -> ServiceInstance {
    ServiceInstance {
        id: id.into(),
        name: service.into(),
        kind: String::new(),
        address: "10.0.0.1".into(),
        port,
        meta: Labels::default(),
        tags: Vec::new(),
        namespace: String::new(),
        status: HealthStatus::Passing,
        node: "n".into(),
        node_id: String::new(),
        node_address: "10.0.0.1".into(),
        node_datacenter: "dc1".into(),
        node_tagged_addresses: Labels::default(),
        node_meta: Labels::default(),
        ports: Vec::new(),
    }
}
