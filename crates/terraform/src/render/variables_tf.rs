//! `variables.tf` and `variables.module.tf` (docs/terraform.md#variablestf, #variables-and-providers).

use std::collections::BTreeMap;

use cts_core::{EngineKind, ModuleInterface, PlanMode, TaskDefinition};
use semver::Version;
use serde_json::Value;

use super::expression::{object_type, quoted, type_constraint, write_assignments};
use super::header::Title;
use super::inputs::{InputKind, inputs};
use super::root_module::{RenderSettings, TaskProvider, instances, tuple};

const SERVICES: &str = r#"# Service definition protocol v0
variable "services" {
  description = "Instances of the Consul services that the task watches"
  type = map(
    object({
      id        = string
      name      = string
      kind      = string
      address   = string
      port      = number
      meta      = map(string)
      tags      = list(string)
      namespace = string
      status    = string

      node                  = string
      node_id               = string
      node_address          = string
      node_datacenter       = string
      node_tagged_addresses = map(string)
      node_meta             = map(string)

      cts_user_defined_meta = map(string)
    })
  )
}
"#;

/// The line of [`SERVICES`] that [`PORTS`] follows.
const PORT: &str = "      port      = number\n";

/// The attribute that is passed only to modules that declare it.
const PORTS: &str =
    "      ports     = list(object({ name = string, port = number, default = bool }))\n";

const CATALOG_SERVICES: &str = r#"
# Catalog Services definition protocol v0
variable "catalog_services" {
  description = "Names of the Consul services that the task watches, with their tags"
  type        = map(list(string))
}
"#;

const CONSUL_KV: &str = r#"
# Consul KV definition protocol v0
variable "consul_kv" {
  description = "Keys of the Consul KV store that the task watches, with their values"
  type        = map(string)
}
"#;

/// First version with `sensitive`.
const SENSITIVE_SINCE: Version = Version::new(0, 14, 0);

/// Whether the engine supports ephemeral variables, which are in no plan: a saved plan then holds no arguments of
/// providers.
fn has_ephemeral(settings: &RenderSettings) -> bool {
    settings.terraform_version
        >= match settings.engine {
            EngineKind::Terraform => Version::new(1, 10, 0),
            EngineKind::OpenTofu => Version::new(1, 11, 0),
        }
}

pub(super) fn render(
    title: &Title<'_>,
    definition: &TaskDefinition,
    settings: &RenderSettings,
    module: &ModuleInterface,
    providers: &[TaskProvider<'_>],
) -> String {
    let mut text = title.header();
    text.push('\n');
    if module.takes_ports {
        text.push_str(&SERVICES.replace(PORT, &[PORT, PORTS].concat()));
    } else {
        text.push_str(SERVICES);
    }
    let inputs = inputs(definition).into_iter();
    for input in inputs.filter(|input| input.is_rendered) {
        text.push_str(match input.kind {
            InputKind::Services(_) => "",
            InputKind::CatalogServices => CATALOG_SERVICES,
            InputKind::ConsulKv => CONSUL_KV,
        });
    }
    for instances in instances(providers) {
        let Some(provider) = instances.first() else {
            continue;
        };
        let description = format!("Configuration of the provider {}", provider.name);
        let mut attributes = vec![
            ("default", "null".to_owned()),
            ("description", quoted(&description)),
        ];
        if definition.file_definition.plan == PlanMode::Saved && has_ephemeral(settings) {
            attributes.push(("ephemeral", "true".to_owned()));
        }
        if settings.terraform_version >= SENSITIVE_SINCE {
            attributes.push(("sensitive", "true".to_owned()));
        }
        let kind = if provider.instance.is_some() {
            type_constraint(&tuple(instances), 1)
        } else {
            object_type(&provider.arguments, 1)
        };
        attributes.push(("type", kind));
        text.push('\n');
        write_variable(&mut text, provider.name, &attributes);
    }
    text
}

/// Declarations of the module's own variables; `None` without variables.
pub(super) fn render_module_variables(
    title: &Title<'_>,
    variables: &BTreeMap<String, Value>,
) -> Option<String> {
    if variables.is_empty() {
        return None;
    }
    let mut text = title.header();
    for (name, value) in variables {
        text.push('\n');
        let attributes = [
            ("default", "null".to_owned()),
            ("type", type_constraint(value, 1)),
        ];
        write_variable(&mut text, name, &attributes);
    }
    Some(text)
}

fn write_variable(out: &mut String, name: &str, attributes: &[(&str, String)]) {
    out.push_str("variable ");
    out.push_str(&quoted(name));
    out.push_str(" {\n");
    write_assignments(out, attributes, 1);
    out.push_str("}\n");
}
