//! A `task` block as written, before defaults: what a configuration and a task file have in common.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cts_core::{BufferSetting, Condition, OnDelete, ProviderId, TaskName};

use crate::blocks::buffer::decode_located_buffer;
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::{Located, SourceLocation};
use crate::report::sink::Sink;
use crate::tasks::checks;
use crate::tasks::cloud_workspace::RawWorkspace;
use crate::tasks::condition::{GivenCondition, decode_condition};
use crate::tasks::deprecated::DeprecatedKeyUse;
use crate::tasks::file_keys::FileKeys;
use crate::tasks::module_input::{WrittenInput, decode_module_inputs};
use crate::tasks::variables::raw::{Variable, decode_variables};

/// All settings of a block, each checked for itself; `None` is unset, or has been reported.
#[derive(Debug)]
pub(crate) struct RawTask {
    /// Where the block is opened.
    pub(crate) place: Option<SourceLocation>,
    pub(crate) name: Option<Located<TaskName>>,
    pub(crate) description: Option<String>,
    pub(crate) enabled: Option<bool>,
    /// Not empty.
    pub(crate) module: Option<Located<String>>,
    pub(crate) version: Option<String>,
    pub(crate) providers: Option<Vec<Located<ProviderId>>>,
    pub(crate) condition: GivenCondition,
    pub(crate) inputs: Vec<Located<WrittenInput>>,
    /// The deprecated list.
    pub(crate) services: Option<Located<Vec<Located<String>>>>,
    pub(crate) variables: BTreeMap<String, Variable>,
    pub(crate) variable_files: Vec<Located<String>>,
    pub(crate) working_dir: Option<Located<String>>,
    /// Not there if nothing is set in it.
    pub(crate) buffer: Option<Located<BufferSetting>>,
    pub(crate) workspace: RawWorkspace,
    pub(crate) file_keys: FileKeys,
    pub(crate) on_delete: Option<OnDelete>,
    /// Each once.
    pub(crate) webhooks: Vec<Located<String>>,
    /// Each once, and a name of Terraform.
    pub(crate) outputs: Option<Vec<Located<String>>>,
    /// Deprecated keys of the block that are not reported yet.
    pub(crate) deprecated: Vec<DeprecatedKeyUse>,
}

const ON_DELETE: [(&str, OnDelete); 2] = [
    (OnDelete::Retain.as_str(), OnDelete::Retain),
    (OnDelete::Destroy.as_str(), OnDelete::Destroy),
];

impl RawTask {
    /// Reads a block. `now` is for schedules that are over.
    pub(crate) fn decode(mut block: Block<'_>, now: DateTime<Utc>) -> Self {
        block.refuse_label();
        let sink = block.sink();
        let mut deprecated = Vec::new();
        let name = decode_name(&mut block);
        let module = decode_module(&mut block, &mut deprecated);
        let condition = decode_condition(&mut block, now, &mut deprecated);
        let inputs = decode_module_inputs(&mut block, &mut deprecated);
        let services = decode_services(&mut block, &condition, &mut deprecated);
        let written = Self {
            place: block.place().cloned(),
            name,
            description: block.text("description"),
            enabled: block.flag("enabled"),
            module,
            version: block.text("version"),
            providers: decode_providers(&mut block),
            condition,
            inputs,
            services,
            variables: decode_variables(&mut block),
            variable_files: block.items("variable_files"),
            working_dir: block.filled_text("working_dir"),
            buffer: decode_located_buffer(&mut block)
                .filter(|buffer| buffer.value != BufferSetting::default()),
            workspace: RawWorkspace::decode(&mut block),
            file_keys: FileKeys::decode(&mut block),
            on_delete: block
                .choice("on_delete", &ON_DELETE)
                .map(|on_delete| on_delete.value),
            webhooks: decode_webhook_names(&mut block),
            outputs: decode_outputs(&mut block),
            deprecated,
        };
        block.finish();
        written.refuse_same_variables(sink);
        written
    }

    /// Whether the deprecated list names any service.
    pub(crate) fn lists_services(&self) -> bool {
        let services = self.services.as_ref();
        services.is_some_and(|services| !services.value.is_empty())
    }

    /// Reports a condition and module inputs of a task that are about the same variable of the module
    /// (`docs/configuration.md#module_input`).
    fn refuse_same_variables(&self, sink: &Sink) {
        let mut monitored: Vec<(&'static str, &'static str, &SourceLocation)> = Vec::new();
        if let GivenCondition::Given(condition) = &self.condition
            && let Some(variable) = condition.value.condition.variable()
        {
            monitored.push((variable, "`condition`", &condition.place));
        }
        let inputs = self.inputs.iter();
        let inputs =
            inputs.map(|input| (input.value.input.variable(), "`module_input`", &input.place));
        let services = self.services.as_ref();
        let services = services.filter(|services| !services.value.is_empty());
        let services = services.map(|services| ("services", "`services`", &services.place));
        for (variable, what, place) in inputs.chain(services) {
            let Some((_, other, first)) = monitored.iter().find(|(name, ..)| *name == variable)
            else {
                monitored.push((variable, what, place));
                continue;
            };
            let message = checks::same_variable(other, what, variable);
            sink.error_after(first, place, message);
        }
    }
}

fn decode_name(block: &mut Block<'_>) -> Option<Located<TaskName>> {
    if !block.has("name") {
        block.missing("unique name for the task is required");
    }
    let written = block.take("name", coerce::text)?;
    block.sink().checked(written, |name| {
        TaskName::new(name).map_err(|error| format!("invalid task name: {error}"))
    })
}

fn decode_webhook_names(block: &mut Block<'_>) -> Vec<Located<String>> {
    let mut names = Vec::<Located<String>>::new();
    for name in block.items("webhooks") {
        if names.iter().any(|known| known.value == name.value) {
            let message = format!("`webhooks` names {:?} twice", name.value);
            block.sink().error(&name.place, message);
        } else {
            names.push(name);
        }
    }
    names
}

fn decode_outputs(block: &mut Block<'_>) -> Option<Vec<Located<String>>> {
    let list = block.list("outputs")?;
    let mut names = checks::Outputs::default();
    for name in &list.value {
        if let Err(message) = names.read(&name.value) {
            block.sink().error(&name.place, message);
        }
    }
    Some(list.value)
}

/// `module`, or what it was called before.
fn decode_module(
    block: &mut Block<'_>,
    deprecated: &mut Vec<DeprecatedKeyUse>,
) -> Option<Located<String>> {
    let given = block.has("module") || block.has("source");
    let module = block.take("module", coerce::text);
    let source = block.take("source", coerce::text);
    if let Some(source) = &source {
        deprecated.push(DeprecatedKeyUse {
            key: "source",
            replacement: "`module`",
            place: source.place.clone(),
            overruled: module.is_some(),
        });
    }
    if !given {
        block.missing("module for the task is required");
    }
    let module = module.or(source)?;
    if module.value.is_empty() {
        block.sink().error(&module.place, checks::EMPTY_MODULE);
        return None;
    }
    Some(module)
}

fn decode_providers(block: &mut Block<'_>) -> Option<Vec<Located<ProviderId>>> {
    let list = block.list("providers")?;
    let mut providers = checks::Providers::default();
    let ids = list.value.into_iter().filter_map(|text| {
        let (value, checked) = providers.read(&text.value);
        if let Err(message) = checked {
            block.sink().error(&text.place, message);
        }
        let place = text.place;
        value.map(|value| Located { value, place })
    });
    Some(ids.collect())
}

fn decode_services(
    block: &mut Block<'_>,
    condition: &GivenCondition,
    deprecated: &mut Vec<DeprecatedKeyUse>,
) -> Option<Located<Vec<Located<String>>>> {
    let services = block.list("services")?;
    deprecated.push(DeprecatedKeyUse {
        key: "services",
        replacement: match condition {
            GivenCondition::Absent | GivenCondition::Unknown => "a `condition \"services\"`",
            GivenCondition::Given(given) if given.value.condition == Condition::NoCondition => {
                "a `condition \"services\"` in place of `condition \"no-condition\"`"
            }
            GivenCondition::Given(_) => "a `module_input \"services\"`",
        },
        place: services.place.clone(),
        overruled: false,
    });
    Some(services)
}
