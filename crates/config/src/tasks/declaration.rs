//! Tasks that are declared over the API, with the defaults and checks of those in the files
//! (docs/rest.md#task-objects).

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use cts_core::hidden::HIDDEN;
use cts_core::{
    ApprovalRule, BufferPeriod, BufferSetting, Condition, FileDefinition, FileSettings,
    InvalidDraft, ModuleInput, ProviderId, Requirement, ServicesCondition, TaskDefinition,
    TaskDraft, TaskName, TaskSpec,
};
use serde_json::Value;

use crate::allowed_sources::AllowedSources;
use crate::blocks::approvals::NOT_IN_CLOUD;
use crate::blocks::buffer::negative_buffer;
use crate::config::Config;
use crate::tasks::api_modules::ApiModules;
use crate::tasks::checks;
use crate::tasks::module_source::ResolvedModule;
use crate::tasks::pinned::RequiredPins;
use crate::tasks::task_directories::TaskDirectories;
use crate::tasks::variables::evaluate_text;

/// The settings that tasks of the API get from the configuration.
#[derive(Debug, Clone)]
pub struct DeclaredTasks {
    modules: ApiModules,
    buffer_period: BufferPeriod,
    /// With `security.strict`.
    pins: Option<RequiredPins>,
    /// Why no task can have a rule that asks for consent.
    no_approval: Option<&'static str>,
}

impl DeclaredTasks {
    /// Such tasks under this configuration; relative modules are below `current_dir`.
    pub fn new(config: &Config, current_dir: &Path) -> Self {
        let working_dirs = [
            Some(&config.working_dir),
            config.worker.working_dir.as_ref(),
        ];
        let working_dirs: Vec<PathBuf> = working_dirs.into_iter().flatten().cloned().collect();
        let directories = working_dirs.iter().flat_map(|parent| {
            let tasks = config.tasks.iter();
            tasks.map(move |task| parent.join(&task.definition.working_dir))
        });
        let security = &config.security;
        let allowed = security.module_sources.as_ref();
        let registry = config.driver.engine.registry();
        Self {
            modules: ApiModules {
                current_dir: current_dir.to_owned(),
                task_directories: TaskDirectories::new(directories),
                working_dirs,
                roots: config.module_roots.clone(),
                allowed: allowed.map(|entries| AllowedSources::new(entries, current_dir, registry)),
            },
            buffer_period: config.buffer_period,
            pins: security
                .strict
                .then(|| RequiredPins::new(config.required_providers())),
            no_approval: if config.terraform_cloud.is_some() {
                Some(NOT_IN_CLOUD)
            } else if security.strict && !security.require_auth {
                Some(
                    "`approval` without security.require_auth is not safe, and security.strict refuses that: everybody \
                     who reaches the API can give the consent",
                )
            } else {
                None
            },
        }
    }

    /// Checks a task and gives it the settings that it inherits. Reads the files of a local module: a module that cannot be
    /// used is noted in the task's requirement. `now` is for schedules that are over. The error contains all other
    /// problems of the task.
    pub fn read(&self, draft: &TaskDraft, now: DateTime<Utc>) -> Result<TaskSpec, InvalidDraft> {
        // First, so that no other check reads a text of any length.
        if let Err(error) = draft.check_texts() {
            return Err(InvalidDraft::Problems(vec![error.to_string()]));
        }
        if let Some(allowed) = &self.modules.allowed
            && let Err(reason) = allowed.check(&draft.module)
        {
            let message = format!("`module` is refused by security.module_sources: {reason}");
            return Err(InvalidDraft::NotAllowed(vec![message]));
        }
        if let Some(reason) = self.no_approval
            && draft
                .approval
                .is_some_and(|rule| rule != ApprovalRule::Never)
        {
            return Err(InvalidDraft::NotAllowed(vec![reason.to_owned()]));
        }
        let mut faults = Errors::default();
        let name = TaskName::new(draft.name.as_str());
        let name = faults.of(name.map_err(|error| format!("invalid task name: {error}")));
        refuse_mask(draft, &mut faults);
        let module = self.module(&draft.module);
        let module = faults.of(module);
        let providers = providers(&draft.providers, &mut faults);
        let instances = module
            .iter()
            .flat_map(|it| it.instance_problems(&providers));
        instances.for_each(|(_, problem)| faults.add(problem));
        let condition = condition(draft.condition.clone(), now, &mut faults);
        check_inputs(&condition, &draft.module_inputs, &mut faults);
        let setting = buffer(draft, &condition, &mut faults);
        let (buffer_setting, buffer_period) =
            checks::buffer_period(self.buffer_period, setting, &condition);
        let variables = variables(&draft.variables, &mut faults);
        let outputs = outputs(&draft.outputs, &mut faults);
        check_workspace(draft, &mut faults);
        let (Some(name), Some(resolved), true) = (name, module, faults.0.is_empty()) else {
            return Err(InvalidDraft::Problems(faults.0));
        };
        let mut spec = TaskSpec {
            definition: TaskDefinition {
                working_dir: PathBuf::from(name.as_str()),
                name,
                description: draft.description.clone(),
                module: draft.module.clone(),
                module_source: resolved.source.clone(),
                module_digest: resolved.digest,
                bundle: None,
                version: draft.version.clone(),
                providers,
                condition,
                module_inputs: draft.module_inputs.clone(),
                services: Vec::new(),
                file_definition: FileDefinition::default(),
                outputs,
                workspace: None,
                variables,
            },
            enabled: draft.enabled,
            buffer_setting,
            buffer_period,
            file_settings: FileSettings::default(),
            on_delete: draft.on_delete.unwrap_or_default(),
            api_approval: draft.approval,
            requirement: Requirement::default(),
        };
        spec.requirement.unusable_module = resolved.problem_for(&spec.definition);
        let definition = &spec.definition;
        let names = definition.variables.keys();
        let mut problems: Vec<String> = names
            .filter_map(|name| Some(definition.variable_problem(name)?.to_string()))
            .collect();
        let pins = self.pins.as_ref();
        let unpinned = pins.map_or_else(Vec::new, |pins| pins.problems(definition));
        if !unpinned.is_empty() {
            problems.splice(0..0, unpinned);
            return Err(InvalidDraft::NotAllowed(problems));
        }
        if problems.is_empty() {
            Ok(spec)
        } else {
            Err(InvalidDraft::Problems(problems))
        }
    }

    fn module(&self, written: &str) -> Result<ResolvedModule, String> {
        if written.is_empty() {
            return Err(checks::EMPTY_MODULE.to_owned());
        }
        Ok(self.modules.resolve(written))
    }

    /// Returns a task of the files with its module as the module is now.
    pub fn read_module(&self, task: &TaskSpec) -> TaskSpec {
        let read = self.modules.of_file(&task.definition.module);
        let mut again = task.clone();
        again.requirement.unusable_module = read.problem_for(&task.definition);
        let definition = &mut again.definition;
        definition.module_source = read.source;
        definition.module_digest = read.digest;
        definition.bundle = None;
        again
    }
}

/// Times that do not count may be negative: those of a buffer period that is off, or of a task with a schedule.
fn buffer(draft: &TaskDraft, condition: &Condition, faults: &mut Errors) -> Option<BufferSetting> {
    let written = draft.buffer_period?;
    let counts = written.enabled != Some(false) && !matches!(condition, Condition::Schedule(_));
    let mut positive = |name: &str, delta: Option<TimeDelta>| {
        let delta = delta?;
        let duration = delta.to_std().ok();
        if duration.is_none() && counts {
            faults.add(negative_buffer(name));
        }
        duration.or(Some(Duration::ZERO))
    };
    Some(BufferSetting {
        enabled: written.enabled,
        min: positive("min", written.min),
        max: positive("max", written.max),
    })
}

/// The problems of a task.
#[derive(Debug, Default)]
struct Errors(Vec<String>);

impl Errors {
    fn add(&mut self, fault: impl Into<String>) {
        self.0.push(fault.into());
    }

    fn of<T>(&mut self, result: Result<T, String>) -> Option<T> {
        result.map_err(|fault| self.add(fault)).ok()
    }
}

/// Answers contain a mask in place of secrets, which must not come back as a value.
fn refuse_mask(draft: &TaskDraft, faults: &mut Errors) {
    if draft.module.contains(HIDDEN) {
        faults.add(format!(
            "`module` has {HIDDEN} in it, which stands for a secret in answers: send the real source"
        ));
    }
    for (name, text) in &draft.variables {
        if text.contains(HIDDEN) {
            faults.add(format!(
                "the variable {name:?} has {HIDDEN} in it, which stands for a secret in answers: send the real value, or leave it out"
            ));
        }
    }
}

fn providers(written: &[String], faults: &mut Errors) -> Vec<ProviderId> {
    let mut providers = checks::Providers::default();
    let ids = written.iter().filter_map(|text| {
        let (id, checked) = providers.read(text);
        faults.of(checked);
        id
    });
    ids.collect()
}

fn condition(condition: Condition, now: DateTime<Utc>, faults: &mut Errors) -> Condition {
    match condition {
        Condition::Services(services) => Condition::Services(services_condition(services, faults)),
        Condition::CatalogServices(services) => {
            faults.of(checks::regexp(&services.regexp, checks::CATALOG_REGEXP));
            Condition::CatalogServices(services)
        }
        Condition::ConsulKv(pairs) => {
            faults.of(checks::path(&pairs.query.path));
            Condition::ConsulKv(pairs)
        }
        Condition::Schedule(schedule) => {
            faults.of(checks::cron(&schedule.cron, now));
            Condition::Schedule(schedule)
        }
        Condition::NoCondition => Condition::NoCondition,
    }
}

/// With names an expression is dropped; names that are none count as absent (docs/rest.md#task-objects).
fn services_condition(mut services: ServicesCondition, faults: &mut Errors) -> ServicesCondition {
    let query = &mut services.query;
    if query.names.iter().any(String::is_empty) {
        faults.add(in_services_condition(checks::EMPTY_SERVICE));
    }
    if !query.names.is_empty() {
        query.regexp = None;
    }
    match &query.regexp {
        Some(regexp) => {
            let checked = checks::regexp(regexp, checks::SERVICES_REGEXP);
            faults.of(checked.map_err(|fault| in_services_condition(&fault)));
        }
        None if query.names.is_empty() => {
            faults.add(in_services_condition(checks::NO_SERVICES));
        }
        None => {}
    }
    services
}

fn in_services_condition(fault: &str) -> String {
    format!("error validating `condition \"services\"` block: {fault}")
}

/// Condition and module inputs must be about different variables of the module.
fn check_inputs(condition: &Condition, inputs: &[ModuleInput], faults: &mut Errors) {
    const INPUT: &str = "`module_input`";
    let mut seen = HashSet::new();
    for variable in inputs.iter().map(ModuleInput::variable) {
        if condition.variable() == Some(variable) {
            faults.add(checks::same_variable("`condition`", INPUT, variable));
        }
        if !seen.insert(variable) {
            faults.add(checks::same_variable(INPUT, INPUT, variable));
        }
    }
}

fn variables(written: &BTreeMap<String, String>, faults: &mut Errors) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    for (name, text) in written {
        match evaluate_text(text) {
            Ok(value) => {
                values.insert(name.clone(), value);
            }
            Err(reason) => faults.add(format!(
                "variable `{name}` is no HCL expression: {reason}; the value is the text of an \
                 expression, so a string needs quotes of its own"
            )),
        }
    }
    values
}

fn outputs(written: &[String], faults: &mut Errors) -> Vec<String> {
    let mut names = checks::Outputs::default();
    for name in written {
        faults.of(names.read(name));
    }
    written.to_owned()
}

/// Both are for a driver that this version cannot run.
fn check_workspace(draft: &TaskDraft, faults: &mut Errors) {
    let workspace = draft.workspace.as_ref().is_some_and(|workspace| {
        let texts = [
            &workspace.execution_mode,
            &workspace.agent_pool_id,
            &workspace.agent_pool_name,
            &workspace.terraform_version,
        ];
        texts.iter().any(|text| !text.is_empty())
    });
    let given = [
        ("terraform_version", !draft.terraform_version.is_empty()),
        ("terraform_cloud_workspace", workspace),
    ];
    for (name, given) in given {
        if given {
            faults.add(checks::only_in_cloud(name, name, &draft.name));
        }
    }
}
