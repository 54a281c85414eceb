//! `task` (spec/config.md 12).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use cts_core::{
    BufferPeriod, Condition, ProviderBlock, ProviderId, Requirement, TaskDefinition, TaskName,
    TaskSpec,
};
use serde_json::Value;

use crate::block::Block;
use crate::buffer::decode_buffer;
use crate::coerce;
use crate::condition::decode_condition;
use crate::module_source::{ModuleSources, clean};
use crate::place::{Located, Place};
use crate::sink::Sink;
use crate::variables::{VariableFiles, evaluate_text};

/// Parts of a task in the original format that mean nothing here yet.
const UNSUPPORTED: [&str; 5] = [
    "module_input",
    "source_input",
    "source_includes_var",
    "terraform_version",
    "terraform_cloud_workspace",
];

/// A task block that has been read.
#[derive(Debug)]
pub(crate) struct DecodedTask {
    /// The task, unless too much of it is missing.
    pub(crate) spec: Option<TaskSpec>,
    /// The references to providers with their places.
    pub(crate) providers: Vec<Located<ProviderId>>,
}

/// Reads task blocks and what they refer to: variable files and local modules.
#[derive(Debug)]
pub(crate) struct TaskDecoder<'a> {
    current_dir: &'a Path,
    buffer_period: BufferPeriod,
    modules: ModuleSources<'a>,
    files: VariableFiles<'a>,
    names: HashMap<String, Place>,
    tasks: Vec<DecodedTask>,
    sink: &'a Sink,
}

impl<'a> TaskDecoder<'a> {
    /// See [`ModuleSources::may_be_elsewhere`].
    pub(crate) fn modules_may_be_elsewhere(&mut self) {
        self.modules.may_be_elsewhere();
    }

    /// `working_dirs` hold task directories; `buffer_period` is the global one.
    pub(crate) fn new(
        current_dir: &'a Path,
        working_dirs: &'a [PathBuf],
        buffer_period: BufferPeriod,
        sink: &'a Sink,
    ) -> Self {
        Self {
            current_dir,
            buffer_period,
            modules: ModuleSources::new(current_dir, working_dirs, sink),
            files: VariableFiles::new(current_dir, sink),
            names: HashMap::new(),
            tasks: Vec::new(),
            sink,
        }
    }

    /// Reads one block.
    pub(crate) fn decode(&mut self, mut block: Block<'_>) {
        block.refuse_label();
        let name = self.decode_name(&mut block);
        let description = block.text("description").unwrap_or_default();
        let enabled = block.flag("enabled").unwrap_or(true);
        let module = self.decode_module(&mut block);
        let version = block.text("version").unwrap_or_default();
        let providers = self.decode_provider_ids(&mut block);
        let condition = self.decode_condition(&mut block);
        let variables = self.decode_variables(&mut block);
        let working_dir = block.text("working_dir");
        let buffer_setting = decode_buffer(&mut block);
        let skip_unchanged = block.flag("skip_unchanged").unwrap_or(true);
        let retry_failed = block.flag("retry_failed").unwrap_or(true);
        for unsupported in UNSUPPORTED {
            block.unsupported(unsupported);
        }
        block.finish();

        let ids = providers.iter().map(|id| id.value.clone()).collect();
        let spec = (|| {
            let name = name?;
            let (module, module_source, module_digest) = module?;
            let working_dir = match working_dir.filter(|path| !path.is_empty()) {
                Some(path) => clean(&self.current_dir.join(path)),
                // Below a directory that only who runs Terraform knows.
                None => PathBuf::from(name.as_str()),
            };
            Some(TaskSpec {
                definition: TaskDefinition {
                    module_inputs: Vec::new(),
                    services: Vec::new(),
                    workspace: None,
                    name,
                    description,
                    module,
                    module_source,
                    module_digest,
                    bundle: None,
                    version,
                    providers: ids,
                    condition: condition?,
                    variables,
                    working_dir,
                },
                enabled,
                buffer_setting,
                buffer_period: self
                    .buffer_period
                    .refine(buffer_setting.unwrap_or_default()),
                skip_unchanged,
                retry_failed,
                requirement: Requirement::default(),
            })
        })();
        self.tasks.push(DecodedTask { spec, providers });
    }

    /// The tasks in the order in which they were decoded.
    pub(crate) fn finish(self) -> Vec<DecodedTask> {
        self.tasks
    }

    fn decode_name(&mut self, block: &mut Block<'_>) -> Option<TaskName> {
        if !block.has("name") {
            block.missing("a task needs a `name`");
        }
        let written = block.take("name", coerce::text)?;
        if let Some(first) = self.names.get(&written.value) {
            let message = format!("duplicate task name {:?}", written.value);
            let help = format!("the first one is at {}", first.describe());
            self.sink
                .error_with_help(&written.place, message, Some(help));
        }
        let name = TaskName::new(written.value.clone());
        let name = name.map_err(|error| {
            self.sink
                .error(&written.place, format!("invalid task name: {error}"));
        });
        self.names.entry(written.value).or_insert(written.place);
        name.ok()
    }

    fn decode_module(
        &mut self,
        block: &mut Block<'_>,
    ) -> Option<(String, String, Option<cts_core::Digest>)> {
        let given = block.has("module");
        let by_old_name = block.unsupported("source");
        let written = block.take("module", coerce::text);
        if !given && !by_old_name {
            block.missing("a task needs a `module`");
        }
        let written = written?;
        if written.value.is_empty() {
            self.sink
                .error(&written.place, "`module` must not be empty");
            return None;
        }
        let (source, digest) = self.modules.resolve(&written);
        Some((written.value, source, digest))
    }

    fn decode_provider_ids(&self, block: &mut Block<'_>) -> Vec<Located<ProviderId>> {
        let mut ids: Vec<Located<ProviderId>> = Vec::new();
        for text in block
            .list("providers")
            .map(|list| list.value)
            .unwrap_or_default()
        {
            let id = ProviderId::from(text.value);
            if ids.iter().any(|other| other.value.name == id.name) {
                let message = format!(
                    "provider `{}` is listed twice: a task can have only one instance of a provider",
                    id.name
                );
                self.sink.error(&text.place, message);
            }
            ids.push(Located {
                value: id,
                place: text.place,
            });
        }
        ids
    }

    fn decode_condition(&self, block: &mut Block<'_>) -> Option<Condition> {
        let by_list = block.unsupported("services");
        if !block.has("condition") && !by_list {
            block.missing("a task without `condition` is not supported yet");
        }
        decode_condition(block.block("condition")?, self.sink)
    }

    /// Values of files beat those in the block, later files beat earlier ones.
    fn decode_variables(&mut self, block: &mut Block<'_>) -> BTreeMap<String, Value> {
        let mut variables = BTreeMap::new();
        for (name, text) in block.text_map("variables") {
            match evaluate_text(&text.value) {
                Ok(value) => {
                    variables.insert(name, value);
                }
                Err(reason) => {
                    let message = format!("variable `{name}` is no HCL expression: {reason}");
                    let help = "the value is the text of an expression, so a string needs quotes of \
                                its own: \"\\\"text\\\"\"";
                    self.sink
                        .error_with_help(&text.place, message, Some(help.to_owned()));
                }
            }
        }
        for file in block
            .list("variable_files")
            .map(|list| list.value)
            .unwrap_or_default()
        {
            variables.extend(self.files.read(&file));
        }
        variables
    }
}

/// A provider block that commits by itself may be used by one task only (spec/config.md 11.5).
pub(crate) fn refuse_shared_commits(
    tasks: &[DecodedTask],
    providers: &[ProviderBlock],
    sink: &Sink,
) {
    let mut used: Vec<(ProviderId, &Place)> = Vec::new();
    for id in tasks.iter().flat_map(|task| &task.providers) {
        let Some(block) = ProviderBlock::select(providers, &id.value) else {
            continue;
        };
        if block.arguments.get("auto_commit") != Some(&Value::Bool(true)) {
            continue;
        }
        let block_id = block.id();
        match used.iter().find(|(other, _)| *other == block_id) {
            Some((_, first)) => {
                let message = format!(
                    "provider `{block_id}` has `auto_commit` and may be used by one task only"
                );
                let help = format!("another task uses it at {}", first.describe());
                sink.error_with_help(&id.place, message, Some(help));
            }
            None => used.push((block_id, &id.place)),
        }
    }
}
