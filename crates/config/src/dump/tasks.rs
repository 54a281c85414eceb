//! `task`, and the `service` blocks that tasks of the old kind refer to.

use std::collections::BTreeMap;

use cts_core::hidden::shown;
use cts_core::{
    CloudExecution, CloudWorkspace, Condition, DeclaredService, KvQuery, ModuleInput, OnDelete,
    ServicesQuery, TaskDefinition, TaskSpec,
};
use serde_json::{Map, Value};

use crate::dump_body::Body;
use crate::dump_values::{buffer_period, path};
use crate::tasks::file_keys::FileKeys;

pub(super) fn tasks(top: &mut Body, tasks: &[TaskSpec]) {
    let mut declared: BTreeMap<String, Body> = BTreeMap::new();
    for task in tasks {
        declare_services(&task.definition, &mut declared);
    }
    for block in declared.into_values() {
        top.repeated("service", None, block);
    }
    for spec in tasks {
        top.repeated("task", None, task(spec));
    }
}

fn task(spec: &TaskSpec) -> Body {
    let task = &spec.definition;
    let mut body = Body::default();
    body.set("name", task.name.as_str());
    body.set("description", task.description.as_str());
    body.set("enabled", spec.enabled);
    body.set("module", task.module.as_str());
    body.set("version", task.version.as_str());
    let providers: Vec<String> = task.providers.iter().map(ToString::to_string).collect();
    body.set("providers", providers);
    if task.working_dir.is_absolute() {
        body.set("working_dir", path(&task.working_dir));
    } else {
        let directory = path(&task.working_dir);
        body.note(format!("working_dir: {directory} below that of the worker"));
    }
    FileKeys::dump(spec, &mut body);
    let on_delete = Some(spec.on_delete).filter(|on_delete| !on_delete.is_retain());
    body.set_some("on_delete", on_delete.map(OnDelete::as_str));
    let webhooks = &task.file_definition.webhooks;
    if !webhooks.is_empty() {
        body.set("webhooks", webhooks.clone());
    }
    if !task.outputs.is_empty() {
        body.set("outputs", task.outputs.clone());
    }
    // A schedule has none, and one that is written is warned of.
    if !matches!(task.condition, Condition::Schedule(_)) {
        body.block("buffer_period", buffer_period(spec.buffer_period));
    }
    inputs(&mut body, task);
    if !task.variables.is_empty() {
        body.set("variables", variables(&task.variables));
    }
    if let Some(written) = &task.workspace {
        body.block("terraform_cloud_workspace", workspace(written));
    }
    body
}

/// Leaves out the condition or inputs that the deprecated list stands for, so that nothing is written twice.
fn inputs(body: &mut Body, task: &TaskDefinition) {
    let by_list = !task.services.is_empty();
    if by_list {
        body.set("services", service_ids(task));
    }
    match &task.condition {
        Condition::Services(_) if by_list => {}
        condition => body.labelled("condition", condition.kind(), of_condition(condition)),
    }
    let condition_by_list = by_list && matches!(task.condition, Condition::Services(_));
    for input in &task.module_inputs {
        match input {
            ModuleInput::Services(_) if by_list && !condition_by_list => {}
            ModuleInput::Services(query) => {
                let mut block = Body::default();
                let names = (!query.names.is_empty()).then(|| query.names.clone());
                block.set_some("names", names);
                block.set_some("regexp", query.regexp.as_deref());
                services(&mut block, query);
                body.repeated("module_input", Some("services"), block);
            }
            ModuleInput::ConsulKv(query) => {
                let mut block = Body::default();
                key_value(&mut block, query);
                body.repeated("module_input", Some("consul-kv"), block);
            }
        }
    }
}

fn of_condition(condition: &Condition) -> Body {
    let mut body = Body::default();
    match condition {
        Condition::NoCondition => {}
        Condition::Services(condition) => {
            let query = &condition.query;
            match &query.regexp {
                Some(regexp) => body.set("regexp", regexp.as_str()),
                None => body.set("names", query.names.clone()),
            }
            services(&mut body, query);
            body.set("use_as_module_input", condition.use_as_module_input);
        }
        Condition::CatalogServices(catalog) => {
            body.set("regexp", catalog.regexp.as_str());
            body.set("datacenter", catalog.datacenter.as_str());
            body.set("namespace", catalog.namespace.as_str());
            body.set("node_meta", texts(&catalog.node_meta));
            body.set("use_as_module_input", catalog.use_as_module_input);
        }
        Condition::ConsulKv(kv) => {
            key_value(&mut body, &kv.query);
            body.set("use_as_module_input", kv.use_as_module_input);
        }
        Condition::Schedule(schedule) => body.set("cron", schedule.cron.as_str()),
    }
    body
}

fn services(body: &mut Body, query: &ServicesQuery) {
    body.set("datacenter", query.datacenter.as_str());
    body.set("namespace", query.namespace.as_str());
    body.set("filter", query.filter.as_str());
    body.set("cts_user_defined_meta", texts(&query.cts_user_defined_meta));
}

fn key_value(body: &mut Body, query: &KvQuery) {
    body.set("path", query.path.as_str());
    body.set("recurse", query.recurse);
    body.set("datacenter", query.datacenter.as_str());
    body.set("namespace", query.namespace.as_str());
}

fn texts(map: &BTreeMap<String, String>) -> Value {
    let entries = map.iter();
    let entries =
        entries.map(|(name, text)| (name.clone(), shown(name, &Value::from(text.as_str()))));
    Value::Object(entries.collect())
}

/// Each value as the text of an HCL 2 expression, which is what the block takes.
fn variables(variables: &BTreeMap<String, Value>) -> Map<String, Value> {
    let entries = variables.iter();
    let text = |(name, value): (&String, &Value)| {
        let value = shown(name, value);
        let text = value.to_string();
        let text = text.replace("${", "$${").replace("%{", "%%{");
        (name.clone(), Value::from(text))
    };
    entries.map(text).collect()
}

fn workspace(workspace: &CloudWorkspace) -> Body {
    let mut body = Body::default();
    match &workspace.execution {
        CloudExecution::Remote => body.set("execution_mode", "remote"),
        CloudExecution::AgentPoolId(id) => {
            body.set("execution_mode", "agent");
            body.set("agent_pool_id", id.as_str());
        }
        CloudExecution::AgentPoolName(name) => {
            body.set("execution_mode", "agent");
            body.set("agent_pool_name", name.as_str());
        }
    }
    body.set_some("terraform_version", workspace.terraform_version.as_deref());
    body.set("auto_upgrade_tf_version", workspace.auto_upgrade_tf_version);
    body
}

/// The names and settings that the deprecated list stands for.
fn listed(task: &TaskDefinition) -> Option<(&[String], &BTreeMap<String, DeclaredService>)> {
    if task.services.is_empty() {
        return None;
    }
    if let Condition::Services(services) = &task.condition {
        return Some((&services.query.names, &services.query.declared));
    }
    task.module_inputs.iter().find_map(|input| match input {
        ModuleInput::Services(services) => Some((services.names.as_slice(), &services.declared)),
        ModuleInput::ConsulKv(_) => None,
    })
}

/// The entry of the list that stands for a name. Several blocks may stand for one name, and the list may
/// then be longer than the names; so the settings get an id that only this task uses.
fn id_of(task: &TaskDefinition, names: &[String], name: &str) -> String {
    let position = names.iter().position(|other| other == name);
    let entry = position.and_then(|position| task.services.get(position));
    match entry {
        Some(id) if names.len() == task.services.len() => id.clone(),
        _ => format!("{}/{name}", task.name.as_str()),
    }
}

fn service_ids(task: &TaskDefinition) -> Vec<String> {
    let Some((names, declared)) = listed(task) else {
        return task.services.clone();
    };
    let id = |name: &String| match declared.get(name) {
        Some(_) => id_of(task, names, name),
        None => name.clone(),
    };
    names.iter().map(id).collect()
}

/// Several tasks refer to the same block by its id.
fn declare_services(task: &TaskDefinition, blocks: &mut BTreeMap<String, Body>) {
    let Some((names, declared)) = listed(task) else {
        return;
    };
    for (name, service) in declared {
        let id = id_of(task, names, name);
        let mut body = Body::default();
        body.set("name", name.as_str());
        body.set("id", id.as_str());
        body.set("datacenter", service.datacenter.as_str());
        body.set("namespace", service.namespace.as_str());
        body.set("filter", service.filter.as_str());
        body.set(
            "cts_user_defined_meta",
            texts(&service.cts_user_defined_meta),
        );
        blocks.insert(id, body);
    }
}
