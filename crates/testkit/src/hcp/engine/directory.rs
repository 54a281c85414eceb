//! Files of a run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::GzDecoder;
use tar::Archive;
use tempfile::TempDir;

use super::super::model::{Model, Run, StageName};
use super::super::phase::Phase;
use super::super::shared::Shared;
use super::stage_result::Step;

const STATE: &str = "terraform.tfstate";
/// Comes after all other files, and so wins over them.
const VARIABLES: &str = "zzz.auto.tfvars";

/// A Terraform with what it is started with.
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Output is lines of JSON.
    pub(super) structured: bool,
    pub(super) destroys: bool,
}

/// A directory with the configuration, the state and the variables of a run.
pub(super) struct RunDirectory {
    pub(super) shared: Arc<Shared>,
    pub(super) run: String,
    pub(super) program: Option<Program>,
    /// The working directory of Terraform.
    pub(super) path: PathBuf,
    _root: TempDir,
}

/// Inputs that a run takes from its workspace.
struct Inputs {
    terraform: Option<PathBuf>,
    working_directory: String,
    structured: bool,
    destroys: bool,
    variables: String,
    environment: Vec<(String, String)>,
    state: Option<Vec<u8>>,
}

impl RunDirectory {
    pub(super) fn prepare(shared: &Arc<Shared>, run: &str, content: &[u8]) -> Step<Self> {
        let root = TempDir::new_in(&shared.directory);
        let root = root.unwrap_or_else(|error| panic!("no directory for a run: {error}"));
        let inputs = shared
            .read(|model| inputs(model, model.run(run)?))
            .ok_or(Phase::Canceled)?;
        let path = root.path().join(inputs.working_directory.trim_matches('/'));
        if unpack(content, root.path()).is_err() || !path.is_dir() {
            return Err(Phase::Errored);
        }
        write_inputs(&path, &inputs).unwrap_or_else(|error| panic!("files of a run: {error}"));
        let environment = environment(&inputs, root.path());
        let program = inputs.terraform.map(|program| Program {
            path: program,
            environment,
            structured: inputs.structured,
            destroys: inputs.destroys,
        });
        Ok(Self {
            shared: Arc::clone(shared),
            run: run.to_owned(),
            program,
            path,
            _root: root,
        })
    }

    /// The state as it is now.
    pub(super) async fn state(&self) -> Option<Vec<u8>> {
        let content = tokio::fs::read(self.path.join(STATE)).await.ok()?;
        Some(content).filter(|content| !content.is_empty())
    }

    pub(super) async fn write_state(&self, content: &[u8]) {
        let written = tokio::fs::write(self.path.join(STATE), content).await;
        written.unwrap_or_else(|error| panic!("the state of a run: {error}"));
    }

    /// Adds to the log of a stage.
    pub(super) fn log(&self, name: StageName, text: &[u8]) {
        self.shared.change(|model| {
            if let Some(run) = model.run_mut(&self.run) {
                run.stage(name).log.extend_from_slice(text);
            }
        });
    }
}

fn unpack(content: &[u8], to: &Path) -> std::io::Result<()> {
    let mut archive = Archive::new(GzDecoder::new(content));
    archive.set_preserve_permissions(false);
    archive.unpack(to)
}

fn inputs(model: &Model, run: &Run) -> Option<Inputs> {
    let workspace = model.workspace(&run.workspace)?;
    let own = |key: &str| run.variables.iter().any(|(known, _)| known == key);
    let mut variables = Vec::new();
    let mut environment = Vec::new();
    for variable in &workspace.variables {
        let (key, value) = (&variable.key, &variable.value);
        if variable.environment {
            environment.push((key.clone(), value.clone()));
        } else if !own(key) {
            let value = if variable.hcl {
                value.clone()
            } else {
                quoted(value)
            };
            variables.push(format!("{key} = {value}\n"));
        }
    }
    for (key, value) in &run.variables {
        variables.push(format!("{key} = {value}\n"));
    }
    Some(Inputs {
        terraform: model.settings.terraform.clone(),
        working_directory: workspace.text("working-directory").to_owned(),
        structured: workspace.flag("structured-run-output-enabled"),
        destroys: run.destroys,
        variables: variables.concat(),
        environment,
        state: model
            .current_state(&workspace.id)
            .map(|state| state.content.clone()),
    })
}

/// A text in the language of Terraform.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.replace("${", "$${").replace("%{", "%%{")
}

fn write_inputs(path: &Path, inputs: &Inputs) -> std::io::Result<()> {
    std::fs::write(path.join(VARIABLES), &inputs.variables)?;
    match &inputs.state {
        Some(state) => std::fs::write(path.join(STATE), state),
        None => Ok(()),
    }
}

fn environment(inputs: &Inputs, home: &Path) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = [
        ("PATH".into(), path),
        ("HOME".into(), home.into()),
        ("CHECKPOINT_DISABLE".into(), "1".into()),
        ("TF_IN_AUTOMATION".into(), "1".into()),
        ("TF_INPUT".into(), "0".into()),
    ];
    let variables = inputs.environment.iter();
    let variables = variables.map(|(key, value)| (key.into(), value.into()));
    own.into_iter().chain(variables).collect()
}
