//! A root module for a server that runs Terraform: files without a backend, and the values of their variables
//! (docs/hcp-terraform.md#what-is-uploaded).

use cts_core::{ModuleInterface, RunInput, TaskDefinition, hidden};

use super::expression::value;
use super::inputs::inputs;
use super::root_module::{GeneratedFile, RenderError, RenderSettings};
use super::{MAIN_TF, main_tf, require_names, task_providers, tfvars, variables_tf};
use super::{Title, WantedOutputs};

/// The files of a root module that are equal for all inputs of a task.
#[derive(Debug, Clone)]
pub struct ConfigurationFiles {
    /// The files. None holds credentials.
    pub files: Vec<GeneratedFile>,
    /// The outputs of the module, for [`ConfigurationFiles::declare_outputs`].
    pub(crate) wanted: Option<WantedOutputs>,
}

/// A variable of the root module with its value. Its `Debug` shows only the name.
#[derive(Clone, PartialEq, Eq)]
pub struct RenderedVariable {
    pub name: String,
    /// The value, as an HCL expression.
    pub value: String,
    /// Whether the value may hold a secret.
    pub is_sensitive: bool,
    /// Whether the value comes from Consul.
    pub is_data: bool,
}

impl std::fmt::Debug for RenderedVariable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RenderedVariable").field(&self.name).finish()
    }
}

/// Renders the files of a task's root module that a server gets, without values.
pub fn render_configuration(
    definition: &TaskDefinition,
    settings: &RenderSettings,
    module: &ModuleInterface,
) -> Result<ConfigurationFiles, RenderError> {
    let providers = task_providers(definition, settings, None)?;
    require_names(definition)?;
    let title = Title::of(definition);
    let main = main_tf::render(&title, definition, settings, None, (&providers, module))?;
    let variables = variables_tf::render(&title, definition, settings, module, &providers);
    let mut files = vec![
        GeneratedFile::new(MAIN_TF, main),
        GeneratedFile::new("variables.tf", variables),
    ];
    let module_variables = variables_tf::render_module_variables(&title, &definition.variables);
    let module_variables = module_variables.into_iter();
    files.extend(module_variables.map(|text| GeneratedFile::new("variables.module.tf", text)));
    Ok(ConfigurationFiles {
        files,
        wanted: WantedOutputs::of(&title, definition),
    })
}

/// Renders the values of all variables of a task's root module.
pub fn render_variables(
    input: &RunInput,
    settings: &RenderSettings,
    module: &ModuleInterface,
) -> Result<Vec<RenderedVariable>, RenderError> {
    let definition = &input.definition;
    let mut variables = Vec::new();
    let rendered = inputs(definition).into_iter();
    for rendered in rendered.filter(|input| input.is_rendered) {
        let mut text = String::new();
        tfvars::write_value(&mut text, rendered.kind, input, module);
        variables.push(RenderedVariable {
            is_data: true,
            ..plain(rendered.kind.variable(), text)
        });
    }
    if !variables.iter().any(|variable| variable.name == "services") {
        variables.push(plain("services", tfvars::NONE.to_owned()));
    }
    for (name, given) in &definition.variables {
        variables.push(RenderedVariable {
            is_sensitive: hidden::shown(name, given) == hidden::HIDDEN,
            ..plain(name, value(given, 0))
        });
    }
    for (name, value) in tfvars::provider_values(&task_providers(definition, settings, None)?) {
        variables.push(RenderedVariable {
            is_sensitive: true,
            ..plain(name, value)
        });
    }
    Ok(variables)
}

fn plain(name: &str, value: String) -> RenderedVariable {
    RenderedVariable {
        name: name.to_owned(),
        value,
        is_sensitive: false,
        is_data: false,
    }
}
