//! Text of the generated root module (docs/terraform.md#the-task-directory). Pure functions of values.
//!
//! Every text from Consul or from a user is written through [`expression`] or [`header`], which escape; names
//! that Terraform only takes bare are checked and refused if they are not identifiers.

mod credentials;
mod expression;
mod header;
mod inputs;
mod main_tf;
mod outputs_tf;
mod template;
mod tfvars;
mod variables_tf;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use cts_core::{Backend, Digest, EngineKind, FAKE_SYNC, ProviderBlock, TaskDefinition};
use serde_json::{Map, Value};

pub use tfvars::render_tfvars;

pub(crate) use credentials::BACKEND_CONFIG;
pub(crate) use outputs_tf::{OUTPUTS_TF, WantedOutputs};

use crate::provider_forms::ProviderForms;
use crate::state::backend_module;
use expression::is_identifier;
pub(crate) use header::GENERATED_NOTICE;
use header::Title;

/// Settings that all tasks share: driver, backend and providers.
///
/// May hold secrets (backend arguments, provider arguments), so `Debug` shows names only.
#[derive(Clone)]
pub struct RenderSettings {
    /// `required_version` of the root module, of [`crate::required_version`].
    pub required_version: String,
    /// The engine that will read the files.
    pub engine: EngineKind,
    /// Its version.
    pub terraform_version: semver::Version,
    /// Configured `required_providers`, by provider name without alias: a version or an object.
    pub required_providers: Map<String, Value>,
    /// Where state is kept.
    pub backend: Backend,
    /// All provider blocks with evaluated values; a task uses the ones that it names.
    pub providers: Vec<ProviderBlock>,
}

impl RenderSettings {
    /// Identifies the program that reads a directory: if it changes, the directory must be initialised again.
    fn engine_version(&self) -> String {
        let version = &self.terraform_version;
        match self.engine {
            EngineKind::Terraform => version.to_string(),
            EngineKind::OpenTofu => format!("{} {version}", self.engine.driver()),
        }
    }
}

impl fmt::Debug for RenderSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderSettings")
            .field("required_version", &self.required_version)
            .field("engine", &self.engine)
            .field("terraform_version", &self.terraform_version)
            .field("backend", &self.backend)
            .field("providers", &self.providers)
            .finish_non_exhaustive()
    }
}

/// The file with the blocks for Terraform, the providers and the module.
const MAIN_TF: &str = "main.tf";

/// One generated file. Its text may hold secrets, so `Debug` shows only name and length.
#[derive(Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// File name inside the task directory.
    pub name: &'static str,
    /// Complete text.
    pub contents: String,
    /// Whether the file holds credentials: then its mode is 0600, and it exists during runs only.
    pub secret: bool,
}

impl GeneratedFile {
    const fn new(name: &'static str, contents: String) -> Self {
        Self {
            name,
            contents,
            secret: false,
        }
    }
}

impl fmt::Debug for GeneratedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GeneratedFile")
            .field("name", &self.name)
            .field("bytes", &self.contents.len())
            .finish_non_exhaustive()
    }
}

/// Every generated file of a task except `terraform.tfvars`: the files that depend on configuration alone.
#[derive(Debug, Clone)]
pub struct RootModule {
    /// The files, in the order in which they are written.
    pub files: Vec<GeneratedFile>,
    /// Credentials of the backend, which only `init` reads.
    pub(crate) backend_credentials: Option<GeneratedFile>,
    /// A root module in JSON with nothing but the backend, credentials included.
    pub(crate) backend_module: GeneratedFile,
    /// Outputs of the module, for a file that is written after `init`.
    pub(crate) outputs: Option<WantedOutputs>,
    /// The sources of the rendering, if the form of a provider's argument is open.
    open_forms: Option<Arc<OpenForms>>,
    /// Identifies everything that `init` depends on, and the outputs. Forms of arguments are not part of it.
    pub(crate) init_fingerprint: Digest,
    /// Identifies everything that `init` depends on except the name of the task; only for a module whose
    /// content is known.
    pub(crate) init_shape: Option<Digest>,
    /// Identifies everything that `validate` depends on except the name of the task; only for a module whose
    /// content is known.
    pub(crate) validation_shape: Option<Digest>,
}

/// The sources from which a root module is rendered again once the forms of arguments are known.
#[derive(Debug)]
struct OpenForms {
    definition: TaskDefinition,
    settings: RenderSettings,
}

impl RootModule {
    /// Whether the configuration leaves open which arguments of providers are nested blocks and which are
    /// attributes.
    pub(crate) fn has_open_forms(&self) -> bool {
        self.open_forms.is_some()
    }

    /// This root module with arguments in the forms of `forms`; `None` if it is right as it is.
    pub(crate) fn with_forms(&self, forms: &ProviderForms) -> Option<Self> {
        let OpenForms {
            definition,
            settings,
        } = &**self.open_forms.as_ref()?;
        // A definition that was rendered once can be rendered again.
        let formed = render_with_forms(definition, settings, Some(forms)).ok()?;
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

/// A task cannot be written as a root module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// Terraform takes this name only bare, and it is not an identifier.
    #[error("{what} {name:?} is not a Terraform identifier")]
    NotAnIdentifier {
        /// The kind of thing that has the name.
        what: &'static str,
        /// The name.
        name: String,
    },
}

/// Renders every file of `definition`'s root module except `terraform.tfvars`
/// (docs/terraform.md#the-task-directory).
pub fn render_root_module(
    definition: &TaskDefinition,
    settings: &RenderSettings,
) -> Result<RootModule, RenderError> {
    render_with_forms(definition, settings, None)
}

/// Renders like [`render_root_module`], but `forms` decides which arguments of providers are nested blocks if
/// the configuration does not.
fn render_with_forms(
    definition: &TaskDefinition,
    settings: &RenderSettings,
    forms: Option<&ProviderForms>,
) -> Result<RootModule, RenderError> {
    let providers = task_providers(definition, settings, forms)?;
    for name in definition.variables.keys() {
        require_identifier("variable", name)?;
    }

    for name in &definition.outputs {
        require_identifier("output", name)?;
    }

    let title = Title::of(definition);
    let main = main_tf::render(&title, definition, settings, &providers)?;
    let variables = variables_tf::render(&title, definition, settings, &providers);
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
            main_tf::render(&nameless, definition, settings, &providers)?,
            variables_tf::render(&nameless, definition, settings, &providers),
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
        files.push(GeneratedFile::new("variables.auto.tfvars", values));
    }
    let is_open = providers.iter().any(main_tf::has_open_forms);
    let open_forms = is_open.then(|| {
        Arc::new(OpenForms {
            definition: definition.clone(),
            settings: settings.clone(),
        })
    });
    let outputs = (!definition.outputs.is_empty())
        .then(|| WantedOutputs::new(&title, &definition.module, &definition.outputs));
    Ok(RootModule {
        files,
        backend_credentials,
        backend_module: GeneratedFile {
            secret: true,
            ..GeneratedFile::new("main.tf.json", backend_module(&settings.backend))
        },
        outputs,
        open_forms,
        init_fingerprint,
        init_shape,
        validation_shape,
    })
}

/// A provider of the task and the block that configures it.
struct TaskProvider<'a> {
    name: &'a str,
    /// Arguments sorted by name; empty without a block.
    arguments: Vec<(&'a str, &'a Value)>,
    /// Paths of the arguments that are written as blocks.
    blocks: Option<&'a BTreeSet<Vec<String>>>,
    /// The source of the provider, as in `required_providers`.
    source: String,
    forms: Option<&'a ProviderForms>,
}

/// The providers of a task, each name once, sorted; without the provider that Terraform does not know.
fn task_providers<'a>(
    definition: &'a TaskDefinition,
    settings: &'a RenderSettings,
    forms: Option<&'a ProviderForms>,
) -> Result<Vec<TaskProvider<'a>>, RenderError> {
    let mut providers = Vec::<TaskProvider<'a>>::with_capacity(definition.providers.len());
    for id in &definition.providers {
        if id.name == FAKE_SYNC || providers.iter().any(|known| known.name == id.name) {
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
            arguments,
            blocks: block.map(|block| &block.blocks),
            source: source_of(&id.name, settings),
            forms,
        });
    }
    providers.sort_unstable_by_key(|provider| provider.name);
    Ok(providers)
}

/// The source of a provider; if none is configured, the vendor's, as Terraform takes it.
fn source_of(provider: &str, settings: &RenderSettings) -> String {
    let required = settings.required_providers.get(provider);
    let source = required.and_then(|required| required.get("source")?.as_str());
    source.map_or_else(|| format!("hashicorp/{provider}"), str::to_owned)
}

fn require_identifier(what: &'static str, name: &str) -> Result<(), RenderError> {
    if is_identifier(name) {
        Ok(())
    } else {
        Err(RenderError::NotAnIdentifier {
            what,
            name: name.to_owned(),
        })
    }
}

/// Members of `map` by name, whatever order the map itself keeps.
fn sorted(map: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut members: Vec<_> = map
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    members.sort_unstable_by_key(|(name, _value)| *name);
    members
}

#[cfg(test)]
mod tests;
