//! The task object of requests after the check against the schema, and its declaration.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use cts_core::{ApprovalRule, DraftBufferPeriod, DraftWorkspace, OnDelete, TaskDraft, go};
use serde::Deserialize;
use serde_json::Value;

use super::condition::{ConditionMembers, ModuleInputMembers};

/// The task. Members with a default in the schema are present.
#[derive(Debug, Deserialize)]
pub(super) struct TaskMembers {
    name: String,
    module: String,
    condition: ConditionMembers,
    description: Option<String>,
    enabled: bool,
    providers: Option<Vec<String>>,
    outputs: Option<Vec<String>>,
    variables: Option<BTreeMap<String, String>>,
    version: Option<String>,
    module_input: Option<ModuleInputMembers>,
    buffer_period: Option<BufferPeriodMembers>,
    terraform_version: Option<String>,
    terraform_cloud_workspace: Option<DraftWorkspace>,
    on_delete: Option<OnDelete>,
    approval: Option<ApprovalRule>,
}

/// The optional members of a request that answers would fill in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentMembers {
    pub(crate) description: bool,
    pub(crate) providers: bool,
    pub(crate) variables: bool,
    pub(crate) version: bool,
    pub(crate) module_input: bool,
}

#[derive(Debug, Deserialize)]
struct BufferPeriodMembers {
    enabled: Option<bool>,
    min: Option<String>,
    max: Option<String>,
}

/// Removes members that the schema allows to be `null` in the maps of conditions, where `null` counts as
/// absent, and settings that only files can make.
pub(super) fn without_nulls(task: &mut Value) {
    for of in ["condition", "module_input"] {
        for kind in ["services", "catalog_services"] {
            let members = task.get_mut(of).and_then(|members| members.get_mut(kind));
            let Some(Value::Object(members)) = members else {
                continue;
            };
            members.remove("declared");
            for map in ["cts_user_defined_meta", "node_meta"] {
                match members.get_mut(map) {
                    Some(Value::Object(pairs)) => pairs.retain(|_key, value| !value.is_null()),
                    Some(Value::Null) => drop(members.remove(map)),
                    _ => {}
                }
            }
        }
    }
}

impl TaskMembers {
    pub(super) fn sent(&self) -> SentMembers {
        SentMembers {
            description: self.description.is_some(),
            providers: self.providers.is_some(),
            variables: self.variables.is_some(),
            version: self.version.is_some(),
            module_input: self.module_input.is_some(),
        }
    }

    /// The texts that should be durations.
    pub(super) fn durations(&self) -> impl Iterator<Item = &str> {
        let period = self.buffer_period.as_ref();
        let texts = period.map(|period| [period.min.as_deref(), period.max.as_deref()]);
        texts.into_iter().flatten().flatten()
    }

    /// The declaration. A text that is not a duration counts as zero.
    pub(super) fn into_draft(self) -> TaskDraft {
        TaskDraft {
            name: self.name,
            description: self.description.unwrap_or_default(),
            enabled: self.enabled,
            module: self.module,
            version: self.version.unwrap_or_default(),
            providers: self.providers.unwrap_or_default(),
            outputs: self.outputs.unwrap_or_default(),
            condition: self.condition.into_condition(),
            module_inputs: self
                .module_input
                .map(ModuleInputMembers::into_inputs)
                .unwrap_or_default(),
            lists_services: false,
            variables: self.variables.unwrap_or_default(),
            buffer_period: self.buffer_period.map(BufferPeriodMembers::into_draft),
            terraform_version: self.terraform_version.unwrap_or_default(),
            workspace: self.terraform_cloud_workspace,
            on_delete: self.on_delete,
            approval: self.approval,
        }
    }
}

impl BufferPeriodMembers {
    /// An absent time is zero, not the default (docs/compatibility.md#api).
    fn into_draft(self) -> DraftBufferPeriod {
        let time = |text: Option<String>| {
            let nanos = text.and_then(|text| go::parse_duration(&text).ok());
            Some(TimeDelta::nanoseconds(nanos.unwrap_or_default()))
        };
        DraftBufferPeriod {
            enabled: self.enabled,
            min: time(self.min),
            max: time(self.max),
        }
    }
}
