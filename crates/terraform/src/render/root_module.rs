//! Settings and results of the rendering.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use cts_core::{Backend, Digest, EngineKind, ModuleInterface, ProviderBlock, TaskDefinition};
use serde_json::{Map, Value};

use super::expression::is_identifier;
use super::outputs_tf::WantedOutputs;
use crate::provider_schema::ProviderForms;

/// Settings that all tasks share: driver, backend and providers.
///
/// May hold secrets (backend arguments, provider arguments), so `Debug` shows names only.
#[derive(Clone)]
pub struct RenderSettings {
    /// `required_version` of the root module, of [`crate::required_version`].
    pub required_version: String,
    /// The engine that will read the files.
    pub engine: EngineKind,
    pub terraform_version: semver::Version,
    /// Configured `required_providers`, by provider name without alias: a version or an object.
    pub required_providers: Map<String, Value>,
    /// Backend that keeps the state.
    pub backend: Backend,
    /// All provider blocks with evaluated values; a task uses the blocks that it names.
    pub providers: Vec<ProviderBlock>,
}

impl RenderSettings {
    /// Identifies the program that reads a directory: if it changes, the directory must be initialised again.
    pub(super) fn engine_version(&self) -> String {
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

/// One generated file. Its text may hold secrets, so `Debug` shows only name and length.
#[derive(Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// File name inside the task directory.
    pub name: &'static str,
    /// Complete text.
    pub contents: String,
    /// Whether the file holds credentials: such a file has the mode 0600, and exists only during runs.
    pub secret: bool,
    /// Whether the file stays, readable only by its owner, because its values are hidden in all displays.
    pub private: bool,
}

impl GeneratedFile {
    pub(crate) const fn new(name: &'static str, contents: String) -> Self {
        Self {
            name,
            contents,
            secret: false,
            private: false,
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
    pub(super) open_forms: Option<Arc<OpenForms>>,
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
pub(super) struct OpenForms {
    pub(super) definition: TaskDefinition,
    pub(super) settings: RenderSettings,
    pub(super) module: ModuleInterface,
}

/// A task cannot be written as a root module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// Terraform takes this name only bare, and it is not an identifier.
    #[error("{what} {name:?} is not a Terraform identifier")]
    NotAnIdentifier {
        /// The kind of thing that has the name.
        what: &'static str,
        name: String,
    },
}

/// A provider of the task and the block that configures it.
pub(super) struct TaskProvider<'a> {
    pub(super) name: &'a str,
    /// The alias by which the task names it.
    pub(super) alias: Option<&'a str>,
    /// Index of this instance among the instances of the provider; `None` for a single instance.
    pub(super) instance: Option<usize>,
    /// Arguments sorted by name; empty without a block.
    pub(super) arguments: Vec<(&'a str, &'a Value)>,
    /// Paths of the arguments that are written as blocks.
    pub(super) blocks: Option<&'a BTreeSet<Vec<String>>>,
    /// The source of the provider, as in `required_providers`.
    pub(super) source: String,
    pub(super) forms: Option<&'a ProviderForms>,
}

impl TaskProvider<'_> {
    /// The alias of the provider block. A single instance is the provider without an alias, whatever its name.
    pub(super) fn block_alias(&self) -> Option<&str> {
        self.alias.filter(|_alias| self.instance.is_some())
    }

    /// The expression of its arguments.
    pub(super) fn variable(&self) -> String {
        match self.instance {
            Some(index) => format!("var.{}[{index}]", self.name),
            None => format!("var.{}", self.name),
        }
    }
}

/// The instances of each provider. Several instances have one variable, a tuple.
pub(super) fn instances<'p, 'a>(
    providers: &'p [TaskProvider<'a>],
) -> impl Iterator<Item = &'p [TaskProvider<'a>]> {
    providers.chunk_by(|one, next| one.name == next.name)
}

/// The arguments of several instances.
pub(super) fn tuple(instances: &[TaskProvider<'_>]) -> Value {
    let objects = instances.iter().map(|instance| {
        let arguments = instance.arguments.iter();
        let arguments = arguments.map(|(name, value)| ((*name).to_owned(), (*value).clone()));
        Value::Object(arguments.collect())
    });
    Value::Array(objects.collect())
}

pub(super) fn require_identifier(what: &'static str, name: &str) -> Result<(), RenderError> {
    if is_identifier(name) {
        Ok(())
    } else {
        Err(RenderError::NotAnIdentifier {
            what,
            name: name.to_owned(),
        })
    }
}
