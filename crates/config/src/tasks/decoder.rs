//! `task` (docs/configuration.md#task).

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use cts_bundle::ModuleRoots;
use cts_core::{
    BufferPeriod, Condition, FileDefinition, ItemKind, ModuleInput, ProviderId, Requirement,
    ServicesCondition, ServicesQuery, TaskDefinition, TaskName, TaskSpec,
};
use serde_json::Value;

use crate::blocks::approvals::refuse_in_cloud;
use crate::context::LoadContext;
use crate::decode::block::Block;
use crate::report::location::{Located, SourceLocation};
use crate::report::original::ProblemKind;
use crate::report::sink::Sink;
use crate::tasks::checks;
use crate::tasks::condition::GivenCondition;
use crate::tasks::file_keys::FileKeys;
use crate::tasks::module_source::{ModuleSources, ResolvedModule};
use crate::tasks::pinned::RequiredPins;
use crate::tasks::raw::RawTask;
use crate::tasks::service_block::ServiceBlocks;
use crate::tasks::variables::VariableFiles;
use crate::tasks::variables::raw::Variable;

/// A task block that has been read.
#[derive(Debug)]
pub(crate) struct DecodedTask {
    /// The task, unless too much of it is missing.
    pub(crate) spec: Option<TaskSpec>,
    /// The references to providers with their places.
    pub(crate) providers: Vec<Located<ProviderId>>,
    /// The names of webhooks with their places.
    pub(crate) webhooks: Vec<Located<String>>,
}

/// All tasks of a configuration.
#[derive(Debug)]
pub(crate) struct DecodedTasks {
    /// In the order in which they were decoded.
    pub(crate) tasks: Vec<DecodedTask>,
    /// Names of tasks whose `buffer_period` has no effect.
    pub(crate) overridden_buffers: Vec<TaskName>,
    /// Variable files with values that are hidden where they are shown.
    pub(crate) secret_files: Vec<PathBuf>,
}

/// Reads task blocks and what they refer to: variable files and local modules.
#[derive(Debug)]
pub(crate) struct TaskDecoder<'a> {
    context: &'a LoadContext<'a>,
    buffer_period: BufferPeriod,
    services: ServiceBlocks,
    /// Whether the driver is `terraform-cloud`.
    in_cloud: bool,
    /// With `security.strict`.
    pins: Option<RequiredPins>,
    modules: ModuleSources<'a>,
    files: VariableFiles<'a>,
    names: HashMap<String, SourceLocation>,
    tasks: Vec<DecodedTask>,
    overridden_buffers: Vec<TaskName>,
    sink: &'a Sink,
}

impl<'a> TaskDecoder<'a> {
    /// `working_dirs` hold task directories, `roots` modules; `buffer_period` is the global one.
    pub(crate) fn new(
        context: &'a LoadContext<'a>,
        working_dirs: &'a [PathBuf],
        roots: ModuleRoots,
        buffer_period: BufferPeriod,
        sink: &'a Sink,
    ) -> Self {
        Self {
            context,
            buffer_period,
            services: ServiceBlocks::default(),
            in_cloud: false,
            pins: None,
            modules: ModuleSources::new(working_dirs, roots, sink),
            files: VariableFiles::new(sink),
            names: HashMap::new(),
            tasks: Vec::new(),
            overridden_buffers: Vec::new(),
            sink,
        }
    }

    /// See [`ModuleSources::may_be_elsewhere`].
    pub(crate) fn modules_may_be_elsewhere(&mut self) {
        self.modules.may_be_elsewhere();
    }

    /// Tasks may have settings for the driver `terraform-cloud`.
    pub(crate) fn run_in_cloud(&mut self) {
        self.in_cloud = true;
    }

    /// Modules and providers must have exact versions.
    pub(crate) fn require_pins(&mut self, pins: RequiredPins) {
        self.pins = Some(pins);
    }

    /// The deprecated `service` blocks, to which tasks may refer.
    pub(crate) fn declare_services(&mut self, blocks: Vec<Block<'_>>) {
        self.services = ServiceBlocks::decode(blocks, self.sink);
    }

    /// Reads one block.
    pub(crate) fn decode(&mut self, block: Block<'_>) {
        let mut written = RawTask::decode(block, self.context.now);
        for used in &written.deprecated {
            used.warn(self.sink);
        }
        if let Some(name) = &written.name {
            self.refuse_duplicate(name.value.as_str(), &name.place);
        }
        let providers = written.providers.take().unwrap_or_default();
        let webhooks = std::mem::take(&mut written.webhooks);
        let spec = self.spec(written, &providers, &webhooks);
        self.tasks.push(DecodedTask {
            spec,
            providers,
            webhooks,
        });
    }

    pub(crate) fn finish(self) -> DecodedTasks {
        DecodedTasks {
            tasks: self.tasks,
            overridden_buffers: self.overridden_buffers,
            secret_files: self.files.with_secrets(),
        }
    }

    fn refuse_duplicate(&mut self, name: &str, place: &SourceLocation) {
        if let Some(first) = self.names.get(name) {
            let message = format!("duplicate task name {name:?}");
            self.sink.error_after(first, place, message);
            self.sink
                .classify(ProblemKind::DuplicateTask(name.to_owned()));
        } else {
            self.names.insert(name.to_owned(), place.clone());
        }
    }

    fn spec(
        &mut self,
        mut written: RawTask,
        providers: &[Located<ProviderId>],
        webhooks: &[Located<String>],
    ) -> Option<TaskSpec> {
        let resolved = written.module.as_ref();
        let resolved = resolved.map(|module| self.modules.resolve(module));
        self.check_instances(resolved.as_ref(), providers);
        let variables = self.variables(&written);
        let places = variables.iter();
        let places: Vec<_> = places
            .map(|(name, written)| (name.clone(), written.place.clone()))
            .collect();
        let variables = variables.into_iter();
        let variables = variables
            .map(|(name, written)| (name, written.value))
            .collect();
        let services = written.services.iter().flat_map(|list| &list.value);
        let services = services.map(|entry| entry.value.clone()).collect();
        let (condition, module_inputs) = self.monitored(&mut written);
        let overrides_buffer = self.warn_of_useless_buffer(&written, &condition);
        let setting = written.buffer.as_ref().map(|setting| setting.value);
        let (buffer_setting, buffer_period) =
            checks::buffer_period(self.buffer_period, setting, &condition);
        let workspace = if self.in_cloud {
            let keys = &written.file_keys;
            let rule = keys.settings.approval.unwrap_or_default();
            refuse_in_cloud(rule, &keys.written, self.sink);
            written.workspace.check(self.sink)
        } else {
            let name = written.name.as_ref().map(|name| name.value.as_str());
            written
                .workspace
                .refuse(name.unwrap_or_default(), self.sink);
            None
        };
        let name = written.name?.value;
        if overrides_buffer {
            self.overridden_buffers.push(name.clone());
        }
        let resolved = resolved?;
        let module = written.module?;
        let working_dir = match written.working_dir {
            Some(path) => self.sink.absolute(path.value),
            // Below a directory that only the worker determines.
            None => PathBuf::from(name.as_str()),
        };
        let mut spec = TaskSpec {
            definition: TaskDefinition {
                name,
                description: written.description.unwrap_or_default(),
                module: module.value,
                module_source: resolved.source.clone(),
                module_digest: resolved.digest,
                bundle: None,
                version: written.version.unwrap_or_default(),
                providers: providers.iter().map(|id| id.value.clone()).collect(),
                file_definition: FileDefinition {
                    webhooks: webhooks.iter().map(|name| name.value.clone()).collect(),
                    ..written.file_keys.definition
                },
                outputs: written
                    .outputs
                    .into_iter()
                    .flatten()
                    .map(|name| name.value)
                    .collect(),
                condition,
                module_inputs,
                services,
                workspace,
                variables,
                working_dir,
            },
            enabled: written.enabled.unwrap_or(true),
            buffer_setting,
            buffer_period,
            file_settings: written.file_keys.settings.clone(),
            requirement: Requirement::default(),
            on_delete: written.on_delete.unwrap_or_default(),
            api_approval: None,
        };
        self.warn_of_useless_limit(&written.file_keys, &spec.definition);
        self.check_pins(&spec.definition, &module.place, providers);
        let definition = &spec.definition;
        self.modules
            .require_variables(&resolved, definition, &module.place, &places);
        spec.requirement.unusable_module = resolved.problem_for(definition);
        for (name, place) in &places {
            if let Some(problem) = spec.definition.variable_problem(name) {
                self.sink.error(place, problem.to_string());
            }
        }
        Some(spec)
    }

    fn check_instances(&self, module: Option<&ResolvedModule>, providers: &[Located<ProviderId>]) {
        let ids: Vec<_> = providers.iter().map(|id| id.value.clone()).collect();
        let problems = module.map(|module| module.instance_problems(&ids));
        for (index, problem) in problems.into_iter().flatten() {
            if let Some(id) = providers.get(index) {
                self.sink.error(&id.place, problem);
            }
        }
    }

    fn check_pins(
        &self,
        task: &TaskDefinition,
        module: &SourceLocation,
        providers: &[Located<ProviderId>],
    ) {
        let Some(pins) = &self.pins else {
            return;
        };
        if let Some(problem) = RequiredPins::module_problem(task) {
            self.sink.error(module, problem);
        }
        for id in providers {
            if let Some(problem) = pins.provider_problem(task, &id.value) {
                self.sink.error(&id.place, problem);
            }
        }
    }

    fn warn_of_useless_limit(&self, keys: &FileKeys, definition: &TaskDefinition) {
        let dependencies = definition.dependencies();
        let mut kinds = dependencies
            .iter()
            .map(|dependency| dependency.view.item_kind());
        if kinds.any(|kind| kind == ItemKind::Instances) {
            return;
        }
        for (key, place) in keys.of_shrink_limit() {
            let message = format!("`{key}` has no effect: the task has no instances of services");
            self.sink.warning(place, message);
        }
    }

    /// Values of files beat those in the block, later files beat earlier ones.
    fn variables(&mut self, written: &RawTask) -> BTreeMap<String, Located<Value>> {
        let block = written.variables.iter();
        let located = |variable: &Variable| Located {
            value: variable.value.clone(),
            place: variable.place.clone(),
        };
        let mut variables: BTreeMap<String, Located<Value>> = block
            .map(|(name, variable)| (name.clone(), located(variable)))
            .collect();
        for file in &written.variable_files {
            variables.extend(self.files.read(file));
        }
        variables
    }

    /// The condition of the task and its module inputs; the deprecated list of services is one or the other
    /// (docs/configuration.md#deprecated-keys-of-tasks).
    fn monitored(&self, written: &mut RawTask) -> (Condition, Vec<ModuleInput>) {
        let inputs = written.inputs.drain(..);
        let mut inputs: Vec<_> = inputs.map(|input| input.value.input).collect();
        let listed = written.services.as_ref().map(|list| {
            let listed = self.services.resolve(&list.value, self.sink);
            ServicesQuery {
                names: listed.names,
                declared: listed.declared,
                ..ServicesQuery::default()
            }
        });
        let listed = listed.filter(|_| written.lists_services());
        let given = match std::mem::replace(&mut written.condition, GivenCondition::Absent) {
            GivenCondition::Given(condition) => condition.value.condition,
            GivenCondition::Unknown => Condition::NoCondition,
            GivenCondition::Absent => {
                if listed.is_none() {
                    self.warn_of_no_condition(written);
                }
                Condition::NoCondition
            }
        };
        let condition = match (given, listed) {
            (Condition::NoCondition, Some(listed)) => Condition::Services(ServicesCondition {
                query: listed,
                use_as_module_input: true,
            }),
            (given, listed) => {
                inputs.extend(listed.map(ModuleInput::Services));
                given
            }
        };
        (condition, inputs)
    }

    fn warn_of_no_condition(&self, written: &RawTask) {
        if let Some(place) = &written.place {
            let message = "task should be configured with a condition block: without one it runs once, and never again for a change; \
                           `condition \"no-condition\" {}` says so without this warning";
            self.sink.warning(place, message);
        }
    }

    /// Returns whether the task has a `buffer_period` without effect.
    fn warn_of_useless_buffer(&self, written: &RawTask, condition: &Condition) -> bool {
        let Some(setting) = &written.buffer else {
            return false;
        };
        let overrides =
            matches!(condition, Condition::Schedule(_)) && setting.value.enabled != Some(false);
        if overrides {
            let message = "`buffer_period` has no effect in a task with a `schedule` condition";
            self.sink.warning(&setting.place, message);
        }
        overrides
    }
}
