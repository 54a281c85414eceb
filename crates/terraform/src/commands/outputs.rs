//! Outputs of a task's module that its runs report (docs/runs.md#outputs).

mod declared;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cts_proto::run::v1::RunOutput;
use cts_proto::run::v1::run_output::Value as Shown;
use serde::Deserialize;
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::attempt::Attempt;
use crate::commands::outcome::{exit_error, failed};
use crate::commands::terraform::Terraform;
use crate::directory::write_if_different;
use crate::error::{CommandError, CommandFailure, MissingOutput};
use crate::process::StdoutUse;
use crate::render::{ConfigurationFiles, GeneratedFile, OUTPUTS_TF, WantedOutputs};
use crate::step::Step;

use declared::Declared;

/// Outputs of a root module by their names, as an engine prints them.
pub type ReportedOutputs = BTreeMap<String, ReportedOutput>;

/// An output of a root module, as an engine prints it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ReportedOutput {
    #[serde(default)]
    sensitive: bool,
    /// Sometimes absent for a sensitive output.
    value: Option<Value>,
    /// Absent before an apply.
    #[serde(rename = "type")]
    kind: Option<Value>,
}

/// The outputs `names`, as far as they are shown. The engine omits an output that is `null`.
pub fn run_outputs(names: &[String], mut told: ReportedOutputs) -> Vec<RunOutput> {
    let outputs = names.iter().map(|name| RunOutput {
        name: name.clone(),
        value: Some(match told.remove(name) {
            Some(told) if told.sensitive => Shown::Sensitive(true),
            told => {
                let value = told.and_then(|told| told.value).unwrap_or_default();
                Shown::Json(value.to_string())
            }
        }),
    });
    outputs.collect()
}

/// The outputs in the text of a state; none if it cannot be read.
pub fn state_outputs(state: &[u8]) -> ReportedOutputs {
    #[derive(Deserialize)]
    struct State {
        #[serde(default)]
        outputs: ReportedOutputs,
    }

    let state = serde_json::from_slice::<State>(state);
    state.map(|state| state.outputs).unwrap_or_default()
}

/// Whether these outputs were read after an apply.
pub(crate) fn are_applied(told: &ReportedOutputs) -> bool {
    told.values().all(|output| output.kind.is_some())
}

/// The directories into which `init` has put the modules of a root module.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Manifest {
    modules: Vec<ModuleEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ModuleEntry {
    key: String,
    dir: PathBuf,
}

impl Terraform {
    /// Reads the outputs of the root module from its state. Values of sensitive ones are among them.
    ///
    /// # Cancellation
    /// Like [`Terraform::apply`]. The command changes nothing, even if it is interrupted.
    pub async fn outputs(&self, attempt: &Attempt) -> Result<ReportedOutputs, CommandError> {
        Self::select_workspace(attempt)?;
        let ended = self.run(attempt, Step::Output, StdoutUse::Captured).await?;
        if !ended.status.success() {
            return Err(exit_error(attempt, Step::Output, ended));
        }
        serde_json::from_str(&ended.stdout)
            .map_err(|error| failed(attempt, Step::Output, CommandFailure::Unreadable(error)))
    }

    /// Writes the file with the wanted outputs, after `init`: the module decides which outputs are sensitive.
    pub(crate) async fn write_outputs(
        attempt: &Attempt,
        wanted: Option<&WantedOutputs>,
    ) -> Result<(), CommandError> {
        let Some(wanted) = wanted else {
            return Ok(());
        };
        let unwritten = |failure| failed(attempt, Step::Validate, failure);
        let place = place_of(attempt);
        let directory = place.clone();
        let reading = spawn_blocking(move || match directory {
            Some(directory) => Declared::in_directory(&directory),
            None => Declared::default(),
        });
        let declared = reading
            .await
            .map_err(|error| unwritten(CommandFailure::Supervision(error)))?;
        let text = outputs_file(wanted, &declared, place.as_deref());
        let text = text.map_err(|missing| unwritten(CommandFailure::NoOutput(missing)))?;
        let path = attempt.directory.path().join(OUTPUTS_TF);
        write_if_different(&path, &text)
            .map(drop)
            .map_err(|error| unwritten(error.into()))
    }
}

impl ConfigurationFiles {
    /// Adds the file with the wanted outputs of the module in this directory. Without a directory the outputs count as
    /// sensitive. Reads files.
    pub fn declare_outputs(&mut self, module: Option<&Path>) -> Result<(), Box<MissingOutput>> {
        let Some(wanted) = self.wanted.take() else {
            return Ok(());
        };
        let declared = module.map_or_else(Declared::default, Declared::in_directory);
        let text = outputs_file(&wanted, &declared, module)?;
        self.files.push(GeneratedFile::new(OUTPUTS_TF, text));
        Ok(())
    }
}

fn outputs_file(
    wanted: &WantedOutputs,
    declared: &Declared,
    place: Option<&Path>,
) -> Result<String, Box<MissingOutput>> {
    let mut outputs = Vec::with_capacity(wanted.names.len());
    for name in &wanted.names {
        let sensitive = declared.is_sensitive(name).ok_or_else(|| {
            Box::new(MissingOutput {
                name: name.clone(),
                module: wanted.module.clone(),
                directory: place.map(Path::to_owned).unwrap_or_default(),
                others: declared.names(),
            })
        })?;
        outputs.push((name.as_str(), sensitive));
    }
    Ok(wanted.render(&outputs))
}

/// The directory of the task's module, into which `init` has installed the module, or in which `init` has found it.
fn place_of(attempt: &Attempt) -> Option<PathBuf> {
    let manifest = attempt.data_directory().join("modules/modules.json");
    let place = read_place(&manifest, attempt.task.as_str());
    if place.is_none() {
        tracing::warn!(task = %attempt.task, "the place of the module is not known: its outputs count as sensitive");
    }
    Some(attempt.directory.path().join(place?))
}

fn read_place(manifest: &Path, key: &str) -> Option<PathBuf> {
    let manifest: Manifest = serde_json::from_slice(&fs::read(manifest).ok()?).ok()?;
    let mut places = manifest.modules.into_iter();
    places.find(|place| place.key == key).map(|place| place.dir)
}
