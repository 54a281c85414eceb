//! Tasks and instances with nothing special; a test changes what it is about.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cts_core::{
    BufferPeriod, Condition, HealthStatus, Labels, OnDelete, PlanMode, Requirement,
    ServiceInstance, ServicesCondition, ShrinkLimit, TaskDefinition, TaskName, TaskSpec,
    TaskTimeouts,
};

/// A task on these services, in `/w`, with a local module in `/m`.
pub fn definition(name: &str, services: &[&str]) -> TaskDefinition {
    TaskDefinition {
        module_inputs: Vec::new(),
        services: Vec::new(),
        webhooks: Vec::new(),
        plan: PlanMode::Direct,
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
        regexp: None,
        declared: BTreeMap::new(),
        names: names.iter().map(|&name| name.to_owned()).collect(),
        datacenter: String::new(),
        namespace: String::new(),
        filter: String::new(),
        cts_user_defined_meta: BTreeMap::new(),
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
        skip_unchanged: true,
        guard: ShrinkLimit::default(),
        concurrency_group: None,
        on_delete: OnDelete::default(),
        retry_failed: true,
        requirement: Requirement::default(),
        timeouts: TaskTimeouts::default(),
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
    }
}
