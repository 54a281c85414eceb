//! Values: `terraform.tfvars`, `providers.auto.tfvars`, `variables.auto.tfvars`
//! (docs/terraform.md#keys-of-services, #terraformtfvars, #variables-and-providers).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cts_core::{ModuleInterface, RunInput, ServiceInstance, ServicesQuery};
use serde_json::Value;

use super::expression::{
    indent, key, object, quoted, string_list, string_map, value, write_assignments,
};
use super::header::Title;
use super::inputs::{InputKind, inputs};
use super::root_module::{TaskProvider, instances, tuple};

/// Renders `terraform.tfvars`, the only file that depends on the data of Consul
/// (docs/terraform.md#terraformtfvars).
///
/// If instances have equal keys (docs/terraform.md#keys-of-services), the last is written, as Terraform would
/// keep it.
pub fn render_tfvars(input: &RunInput, module: &ModuleInterface) -> String {
    let mut text = Title::of(&input.definition).header();
    let mut has_services = false;
    let inputs = inputs(&input.definition).into_iter();
    for rendered in inputs.filter(|input| input.is_rendered) {
        has_services |= matches!(rendered.kind, InputKind::Services(_));
        begin(&mut text, rendered.kind.variable());
        write_value(&mut text, rendered.kind, input, module);
        text.push('\n');
    }
    if !has_services {
        begin(&mut text, "services");
        text.push_str(NONE);
        text.push('\n');
    }
    text
}

/// An input without content.
pub(super) const NONE: &str = "{\n}";

fn begin(out: &mut String, variable: &str) {
    out.push('\n');
    out.push_str(variable);
    out.push_str(" = ");
}

/// Writes the value of an input as an expression.
pub(super) fn write_value(
    out: &mut String,
    kind: InputKind<'_>,
    input: &RunInput,
    module: &ModuleInterface,
) {
    out.push_str("{\n");
    match kind {
        InputKind::Services(query) => write_services(out, query, &input.services, module),
        InputKind::CatalogServices => {
            let services = input.catalog_services.iter();
            let pairs = services.map(|one| (quoted(&one.name), string_list(&one.tags)));
            write_assignments(out, &pairs.collect::<Vec<_>>(), 1);
        }
        InputKind::ConsulKv => {
            let keys = input.consul_kv.iter();
            let pairs = keys.map(|one| (quoted(&one.key), quoted(&one.value)));
            write_assignments(out, &pairs.collect::<Vec<_>>(), 1);
        }
    }
    out.push('}');
}

fn write_services(
    out: &mut String,
    query: &ServicesQuery,
    instances: &[Arc<ServiceInstance>],
    module: &ModuleInterface,
) {
    let keys: Vec<_> = instances
        .iter()
        .map(|instance| instance.module_key())
        .collect();
    let last: HashMap<_, _> = keys.iter().zip(0_usize..).collect();
    for (index, (instance, key)) in instances.iter().zip(&keys).enumerate() {
        if last.get(key) == Some(&index) {
            let meta = string_map(query.meta_of(&instance.name), 2);
            write_instance(out, key, instance, &meta, module);
        }
    }
}

fn write_instance(
    out: &mut String,
    key: &str,
    instance: &ServiceInstance,
    meta: &str,
    module: &ModuleInterface,
) {
    let mut attributes = vec![
        ("id", quoted(&instance.id)),
        ("name", quoted(&instance.name)),
        ("kind", quoted(&instance.kind)),
        ("address", quoted(&instance.address)),
        ("port", instance.port.to_string()),
        ("meta", string_map(&instance.meta, 2)),
        ("tags", string_list(&instance.tags)),
        ("namespace", quoted(&instance.namespace)),
        ("status", quoted(instance.status.as_str())),
        ("node", quoted(&instance.node)),
        ("node_id", quoted(&instance.node_id)),
        ("node_address", quoted(&instance.node_address)),
        ("node_datacenter", quoted(&instance.node_datacenter)),
        (
            "node_tagged_addresses",
            string_map(&instance.node_tagged_addresses, 2),
        ),
        ("node_meta", string_map(&instance.node_meta, 2)),
        ("cts_user_defined_meta", meta.to_owned()),
    ];
    if module.takes_ports {
        let after_port = attributes.iter().position(|(name, _)| *name == "meta");
        attributes.insert(after_port.unwrap_or_default(), ("ports", ports(instance)));
    }
    indent(out, 1);
    out.push_str(&quoted(key));
    out.push_str(" = {\n");
    write_assignments(out, &attributes, 2);
    out.push_str("  },\n");
}

/// The named ports of an instance, on one line.
fn ports(instance: &ServiceInstance) -> String {
    let ports = instance.ports.iter().map(|port| {
        let name = quoted(&port.name);
        let (number, default) = (port.port, port.default);
        format!("{{ name = {name}, port = {number}, default = {default} }}")
    });
    format!("[{}]", ports.collect::<Vec<_>>().join(", "))
}

/// Values of the provider variables; may hold secrets.
pub(super) fn render_provider_values(title: &Title<'_>, providers: &[TaskProvider<'_>]) -> String {
    let mut text = title.header();
    for (name, value) in provider_values(providers) {
        text.push('\n');
        write_assignments(&mut text, &[(name, value)], 0);
    }
    text
}

/// The variable of each provider, with its value.
pub(super) fn provider_values<'a>(
    providers: &[TaskProvider<'a>],
) -> impl Iterator<Item = (&'a str, String)> {
    instances(providers).filter_map(|instances| {
        let first = instances.first()?;
        let text = if first.instance.is_some() {
            value(&tuple(instances), 0)
        } else {
            let arguments = first.arguments.iter();
            let arguments = arguments.map(|(name, argument)| (key(name), value(argument, 1)));
            object(&arguments.collect::<Vec<_>>(), 0)
        };
        Some((first.name, text))
    })
}

/// Values of the module's own variables.
pub(super) fn render_module_values(
    title: &Title<'_>,
    variables: &BTreeMap<String, Value>,
) -> String {
    let mut text = title.header();
    text.push('\n');
    let values: Vec<_> = variables
        .iter()
        .map(|(name, variable)| (name, value(variable, 0)))
        .collect();
    write_assignments(&mut text, &values, 0);
    text.push('\n');
    text
}
