//! `terraform_cloud_workspace` and `terraform_version` of a task, for the driver `terraform-cloud`
//! (`docs/configuration.md#terraform_cloud_workspace`).

use cts_core::{CloudExecution, CloudWorkspace, EngineKind};
use serde_json::{Map, Value};

use crate::blocks::driver::version::ExactVersion;
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::{Located, Place};
use crate::report::sink::Sink;
use crate::report::suggestion::suggestion;
use crate::tasks::deprecated::DeprecatedKeyUse;
use crate::tasks::query::insert_some;

const MODES: [&str; 2] = ["remote", "agent"];

/// The settings as written; `None` is unset or empty, which is the same for all of them.
#[derive(Debug, Default)]
pub(crate) struct RawWorkspace {
    pub(crate) execution_mode: Option<Located<String>>,
    pub(crate) agent_pool_id: Option<Located<String>>,
    pub(crate) agent_pool_name: Option<Located<String>>,
    pub(crate) terraform_version: Option<Located<String>>,
    pub(crate) auto_upgrade_tf_version: Option<Located<bool>>,
    /// `terraform_version` of the task itself.
    pub(crate) former_version: Option<Located<String>>,
}

impl RawWorkspace {
    /// Takes the settings out of a task.
    pub(crate) fn decode(task: &mut Block<'_>) -> Self {
        let former_version = text(task, "terraform_version");
        let Some(mut block) = task.block("terraform_cloud_workspace") else {
            return Self {
                former_version,
                ..Self::default()
            };
        };
        let written = Self {
            execution_mode: text(&mut block, "execution_mode"),
            agent_pool_id: text(&mut block, "agent_pool_id"),
            agent_pool_name: text(&mut block, "agent_pool_name"),
            terraform_version: text(&mut block, "terraform_version"),
            auto_upgrade_tf_version: block.take("auto_upgrade_tf_version", coerce::flag),
            former_version,
        };
        block.finish();
        written
    }

    /// The settings with their names and places, those of the block first.
    fn places(&self) -> Vec<(&'static str, &Place)> {
        let texts = [
            ("execution_mode", &self.execution_mode),
            ("agent_pool_id", &self.agent_pool_id),
            ("agent_pool_name", &self.agent_pool_name),
            ("terraform_version", &self.terraform_version),
            ("terraform_version", &self.former_version),
        ];
        let texts = texts.into_iter();
        let texts = texts.filter_map(|(name, text)| Some((name, &text.as_ref()?.place)));
        let flag = self.auto_upgrade_tf_version.as_ref();
        texts
            .chain(flag.map(|flag| ("auto_upgrade_tf_version", &flag.place)))
            .collect()
    }

    /// The object of the API; what is unset is left out (docs/rest.md#task-objects).
    pub(crate) fn to_object(&self) -> Map<String, Value> {
        let mut object = Map::new();
        for (name, text) in [
            ("execution_mode", &self.execution_mode),
            ("agent_pool_id", &self.agent_pool_id),
            ("agent_pool_name", &self.agent_pool_name),
            ("terraform_version", &self.terraform_version),
        ] {
            let text = text.as_ref().map(|text| &text.value);
            insert_some(&mut object, name, text);
        }
        let upgrade = self.auto_upgrade_tf_version.as_ref();
        let upgrade = upgrade.map(|upgrade| &upgrade.value);
        insert_some(&mut object, "auto_upgrade_tf_version", upgrade);
        object
    }

    /// With driver `terraform` nothing may be set.
    pub(crate) fn refuse(&self, sink: &Sink) {
        for (name, place) in self.places() {
            let message = format!(
                "`{name}` of a task is for the driver `terraform-cloud`, which is not configured"
            );
            let help = (name == "terraform_version")
                .then(|| "set `version` in the block `driver \"terraform\"` instead".to_owned());
            sink.error_with_help(place, message, help);
        }
    }

    /// With driver `terraform-cloud`: the settings, if there are any.
    pub(crate) fn check(self, sink: &Sink) -> Option<CloudWorkspace> {
        if self.places().is_empty() {
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
            auto_upgrade_tf_version: self
                .auto_upgrade_tf_version
                .is_none_or(|upgrade| upgrade.value),
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

/// A text that counts as absent when it is empty.
fn text(block: &mut Block<'_>, name: &'static str) -> Option<Located<String>> {
    let written = block.take(name, coerce::text)?;
    Some(written).filter(|text| !text.value.is_empty())
}
