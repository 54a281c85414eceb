//! `terraform_cloud_workspace` and `terraform_version` of a task, for the driver `terraform-cloud`
//! (`docs/configuration.md#terraform_cloud_workspace`).

use cts_core::{CloudExecution, CloudWorkspace, EngineKind};
use serde_json::{Map, Value};

use crate::blocks::driver::version::ExactVersion;
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::{Located, SourceLocation};
use crate::report::sink::Sink;
use crate::report::suggestion::suggestion;
use crate::tasks::checks;
use crate::tasks::deprecated::DeprecatedKeyUse;

const MODES: [&str; 2] = ["remote", "agent"];

/// The settings as written; `None` is unset or empty, which is the same for all of them.
#[derive(Debug, Default)]
pub(crate) struct RawWorkspace {
    execution_mode: Option<Located<String>>,
    agent_pool_id: Option<Located<String>>,
    agent_pool_name: Option<Located<String>>,
    terraform_version: Option<Located<String>>,
    auto_upgrade_tf_version: Option<bool>,
    /// `terraform_version` of the task itself.
    pub(crate) former_version: Option<Located<String>>,
    /// The settings that are written, with the key of the task and their places.
    places: Vec<(&'static str, &'static str, SourceLocation)>,
    /// The object of the API; what is unset is left out (docs/rest.md#task-objects).
    pub(crate) object: Map<String, Value>,
}

impl RawWorkspace {
    /// Takes the settings out of a task.
    pub(crate) fn decode(task: &mut Block<'_>) -> Self {
        let former_version = task.filled_text("terraform_version");
        let former = former_version.iter();
        let mut written = Self {
            places: former
                .map(|former| {
                    let key = "terraform_version";
                    (key, key, former.place.clone())
                })
                .collect(),
            former_version,
            ..Self::default()
        };
        if let Some(mut block) = task.block("terraform_cloud_workspace") {
            written.execution_mode = written.text(&mut block, "execution_mode");
            written.agent_pool_id = written.text(&mut block, "agent_pool_id");
            written.agent_pool_name = written.text(&mut block, "agent_pool_name");
            written.terraform_version = written.text(&mut block, "terraform_version");
            let upgrade = block.take("auto_upgrade_tf_version", coerce::flag);
            if let Some(upgrade) = upgrade {
                written.note("auto_upgrade_tf_version", upgrade.value, &upgrade.place);
                written.auto_upgrade_tf_version = Some(upgrade.value);
            }
            block.finish();
        }
        written
    }

    fn text(&mut self, block: &mut Block<'_>, name: &'static str) -> Option<Located<String>> {
        let text = block.filled_text(name)?;
        self.note(name, text.value.as_str(), &text.place);
        Some(text)
    }

    fn note(&mut self, name: &'static str, value: impl Into<Value>, place: &SourceLocation) {
        self.object.insert(name.to_owned(), value.into());
        self.places
            .push(("terraform_cloud_workspace", name, place.clone()));
    }

    /// With driver `terraform` nothing may be set.
    pub(crate) fn refuse(&self, task: &str, sink: &Sink) {
        for (key, name, place) in &self.places {
            let message = checks::only_in_cloud(key, name, task);
            let help = (*name == "terraform_version")
                .then(|| "set `version` in the block `driver \"terraform\"` instead".to_owned());
            sink.error_with_help(place, message, help);
        }
    }

    /// With driver `terraform-cloud`: the settings, if there are any.
    pub(crate) fn check(self, sink: &Sink) -> Option<CloudWorkspace> {
        if self.places.is_empty() {
            return None;
        }
        if let Some(deprecated) = &self.former_version {
            let use_of = DeprecatedKeyUse {
                key: "terraform_version",
                replacement: "`terraform_version` in a `terraform_cloud_workspace` block",
                place: deprecated.place.clone(),
                overruled: self.terraform_version.is_some(),
            };
            use_of.warn(sink);
        }
        for version in [&self.terraform_version, &self.former_version]
            .into_iter()
            .flatten()
        {
            let read = ExactVersion::read_tested(&version.value, EngineKind::Terraform);
            if let Err(reason) = read {
                sink.error(&version.place, reason.to_string());
            }
        }
        let execution = self.execution(sink);
        let version = self.terraform_version.or(self.former_version);
        Some(CloudWorkspace {
            execution,
            terraform_version: version.map(|version| version.value),
            auto_upgrade_tf_version: self.auto_upgrade_tf_version.unwrap_or(true),
        })
    }

    fn execution(&self, sink: &Sink) -> CloudExecution {
        let mode = self.execution_mode.as_ref();
        if let Some(written) = mode
            && !MODES.contains(&written.value.as_str())
        {
            let message = format!(
                "`execution_mode` must be \"remote\" or \"agent\", not {}",
                coerce::quoted(&written.value)
            );
            let help = suggestion(&written.value, &MODES);
            sink.error_with_help(&written.place, message, help);
            return CloudExecution::Remote;
        }
        let pool = match (&self.agent_pool_id, &self.agent_pool_name) {
            (Some(id), name) => {
                if let Some(name) = name {
                    let message = "`agent_pool_name` has no effect beside `agent_pool_id`";
                    sink.warning(&name.place, message);
                }
                Some((id, CloudExecution::AgentPoolId(id.value.clone())))
            }
            (None, Some(name)) => Some((name, CloudExecution::AgentPoolName(name.value.clone()))),
            (None, None) => None,
        };
        match (mode.filter(|mode| mode.value == "agent"), pool) {
            (Some(_), Some((_, execution))) => execution,
            (Some(mode), None) => {
                let message =
                    "`execution_mode` \"agent\" needs `agent_pool_id` or `agent_pool_name`";
                sink.error(&mode.place, message);
                CloudExecution::Remote
            }
            (None, Some((written, _))) => {
                let message = "an agent pool is configured, but `execution_mode` is not \"agent\"";
                sink.error(&written.place, message);
                CloudExecution::Remote
            }
            (None, None) => CloudExecution::Remote,
        }
    }
}
