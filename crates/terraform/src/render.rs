//! Text of the generated root module (docs/terraform.md#the-task-directory). Pure functions of values.
//!
//! Every text from Consul or from a user is written through [`expression`] or [`header`], which escape; names
//! that Terraform only takes bare are checked and refused if they are not identifiers.

mod backend_module;
mod configuration;
mod credentials;
mod expression;
mod header;
mod inputs;
mod main_tf;
mod outputs_tf;
mod root_module;
mod template;
mod tfvars;
mod variables_tf;

use std::sync::Arc;

use cts_core::{Digest, FAKE_SYNC, ModuleInterface, ProviderBlock, TaskDefinition, hidden};

pub use configuration::{
    ConfigurationFiles, RenderedVariable, render_configuration, render_variables,
};
pub use root_module::{GeneratedFile, RenderError, RenderSettings, RootModule};
pub use tfvars::render_tfvars;

pub(crate) use backend_module::backend_module;
pub(crate) use credentials::BACKEND_CONFIG;
pub(crate) use outputs_tf::{OUTPUTS_TF, WantedOutputs};

use crate::provider_schema::ProviderForms;
use expression::sorted;
use header::Title;
use root_module::{OpenForms, TaskProvider, require_identifier};

/// The file with the blocks for Terraform, the providers and the module.
const MAIN_TF: &str = "main.tf";

impl RootModule {
    /// Whether the configuration leaves open which arguments of providers are nested blocks, and which are attributes.
    pub(crate) fn has_open_forms(&self) -> bool {
        self.open_forms.is_some()
    }

    /// This root module with arguments in the forms of `forms`; `None` if nothing changes.
    pub(crate) fn with_forms(&self, forms: &ProviderForms) -> Option<Self> {
        let OpenForms {
            definition,
            settings,
            module,
        } = &**self.open_forms.as_ref()?;
        // A definition that was rendered once can be rendered again.
        let formed = render_with_forms(definition, settings, module, Some(forms)).ok()?;
        let formed = Self {
            // `init` does not look at arguments of providers.
            init_fingerprint: self.init_fingerprint,
            init_shape: self.init_shape,
            ..formed
        };
        (formed.file(MAIN_TF) != self.file(MAIN_TF)).then_some(formed)
    }

    /// Text of the file called `name`, if the task has it.
    pub fn file(&self, name: &str) -> Option<&str> {
        self.files
            .iter()
            .find(|file| file.name == name)
            .map(|file| file.contents.as_str())
    }
}

/// Renders every file of `definition`'s root module except `terraform.tfvars`
/// (docs/terraform.md#the-task-directory). `module` has the declarations of the task's module.
pub fn render_root_module(
    definition: &TaskDefinition,
    settings: &RenderSettings,
    module: &ModuleInterface,
) -> Result<RootModule, RenderError> {
    render_with_forms(definition, settings, module, None)
}

/// Renders like [`render_root_module`], but `forms` decides which arguments of providers are nested blocks if
/// the configuration does not.
fn render_with_forms(
    definition: &TaskDefinition,
    settings: &RenderSettings,
    module: &ModuleInterface,
    forms: Option<&ProviderForms>,
) -> Result<RootModule, RenderError> {
    let providers = task_providers(definition, settings, forms)?;
    require_names(definition)?;
    let title = Title::of(definition);
    let main = main_tf::render(
        &title,
        definition,
        settings,
        Some(&settings.backend),
        (&providers, module),
    )?;
    let variables = variables_tf::render(&title, definition, settings, module, &providers);
    let module_variables = variables_tf::render_module_variables(&title, &definition.variables);
    let values = tfvars::render_provider_values(&title, &providers);
    let backend_credentials = credentials::render(&settings.backend);
    let template = template::render(&title, definition);

    let version = settings.engine_version();
    let module_digest = definition.module_digest.map(|digest| digest.to_string());
    let of_init = [
        version.as_str(),
        &main,
        &variables,
        module_variables.as_deref().unwrap_or_default(),
        module_digest.as_deref().unwrap_or_default(),
    ];
    let credentials = backend_credentials
        .as_ref()
        .map(|file| file.contents.as_str());
    let outputs = definition.outputs.iter().map(String::as_str);
    let of_init = of_init
        .into_iter()
        .chain(credentials)
        .chain(outputs.clone());
    let init_fingerprint = Digest::of_parts(of_init.map(str::as_bytes));
    // A version of a registry's module never changes.
    let is_known = module_digest.is_some() || definition.version.parse::<semver::Version>().is_ok();
    let mut init_shape = None;
    let mut validation_shape = None;
    if is_known {
        let nameless = Title::nameless();
        let of_shape = [
            version,
            main_tf::render(
                &nameless,
                definition,
                settings,
                Some(&settings.backend),
                (&providers, module),
            )?,
            variables_tf::render(&nameless, definition, settings, module, &providers),
            variables_tf::render_module_variables(&nameless, &definition.variables)
                .unwrap_or_default(),
            module_digest.clone().unwrap_or_default(),
        ];
        let of_shape = of_shape.iter().map(String::as_bytes);
        let of_shape = of_shape.chain(outputs.map(str::as_bytes));
        let with_credentials = of_shape.clone().chain(credentials.map(str::as_bytes));
        init_shape = Some(Digest::of_parts(with_credentials));
        validation_shape = module_digest.is_some().then(|| Digest::of_parts(of_shape));
    }

    let has_arguments = providers
        .iter()
        .any(|provider| !provider.arguments.is_empty());
    let mut files = vec![
        GeneratedFile::new(MAIN_TF, main),
        GeneratedFile::new("variables.tf", variables),
        GeneratedFile::new("terraform.tfvars.tmpl", template),
        GeneratedFile {
            secret: has_arguments,
            ..GeneratedFile::new("providers.auto.tfvars", values)
        },
    ];
    if let Some(contents) = module_variables {
        let values = tfvars::render_module_values(&title, &definition.variables);
        files.push(GeneratedFile::new("variables.module.tf", contents));
        let mut variables = definition.variables.iter();
        files.push(GeneratedFile {
            private: variables.any(|(name, value)| hidden::hides_any(name, value)),
            ..GeneratedFile::new("variables.auto.tfvars", values)
        });
    }
    let is_open = providers.iter().any(main_tf::has_open_forms);
    let open_forms = is_open.then(|| {
        Arc::new(OpenForms {
            definition: definition.clone(),
            settings: settings.clone(),
            module: module.clone(),
        })
    });
    Ok(RootModule {
        files,
        backend_credentials,
        backend_module: GeneratedFile {
            secret: true,
            ..GeneratedFile::new("main.tf.json", backend_module(&settings.backend))
        },
        outputs: WantedOutputs::of(&title, definition),
        open_forms,
        init_fingerprint,
        init_shape,
        validation_shape,
    })
}

/// Terraform takes these names only bare.
fn require_names(definition: &TaskDefinition) -> Result<(), RenderError> {
    for name in definition.variables.keys() {
        require_identifier("variable", name)?;
    }
    for name in &definition.outputs {
        require_identifier("output", name)?;
    }
    Ok(())
}

/// The providers of a task, each instance once, sorted; without the provider that Terraform does not support.
fn task_providers<'a>(
    definition: &'a TaskDefinition,
    settings: &'a RenderSettings,
    forms: Option<&'a ProviderForms>,
) -> Result<Vec<TaskProvider<'a>>, RenderError> {
    let mut providers = Vec::<TaskProvider<'a>>::with_capacity(definition.providers.len());
    for id in &definition.providers {
        let alias = id.alias.as_deref();
        let is_known = |known: &TaskProvider<'_>| known.name == id.name && known.alias == alias;
        if id.name == FAKE_SYNC || providers.iter().any(is_known) {
            continue;
        }
        require_identifier("provider", &id.name)?;
        let block = ProviderBlock::select(&settings.providers, id);
        let arguments = block.map(|block| sorted(&block.arguments));
        let arguments = arguments.unwrap_or_default();
        for (name, _value) in &arguments {
            require_identifier("provider argument", name)?;
        }
        providers.push(TaskProvider {
            name: &id.name,
            alias,
            instance: None,
            arguments,
            blocks: block.map(|block| &block.blocks),
            source: source_of(&id.name, settings),
            forms,
        });
    }
    providers.sort_unstable_by_key(|provider| (provider.name, provider.alias));
    let several = providers.chunk_by_mut(|one, next| one.name == next.name);
    for instances in several.filter(|instances| instances.len() > 1) {
        for (index, provider) in instances.iter_mut().enumerate() {
            if let Some(alias) = provider.alias {
                require_identifier("alias", alias)?;
            }
            provider.instance = Some(index);
        }
    }
    Ok(providers)
}

/// The source of a provider; if none is configured, the vendor's, as Terraform takes it.
fn source_of(provider: &str, settings: &RenderSettings) -> String {
    let required = settings.required_providers.get(provider);
    let source = required.and_then(|required| required.get("source")?.as_str());
    source.map_or_else(|| format!("hashicorp/{provider}"), str::to_owned)
}

#[cfg(test)]
mod tests;
