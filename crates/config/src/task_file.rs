//! The file of `task create`: one task for the API (docs/cli.md#task-files, #cts-task).

use std::path::Path;
use std::time::Duration;

use cts_core::{ApprovalRule, BufferSetting, OnDelete};
use serde_json::{Map, Value};

use crate::blocks::approvals::APPROVAL;
use crate::context::LoadContext;
use crate::decode::block::Block;
use crate::decode::source::read_all;
use crate::decode::tree::Part;
use crate::report::location::Located;
use crate::report::problem::Report;
use crate::report::sink::Sink;
use crate::tasks::condition::GivenCondition;
use crate::tasks::deprecated::DeprecatedKeyUse;
use crate::tasks::raw::RawTask;
use crate::tasks::variables::VariableFiles;
use crate::tasks::variables::raw::expression_of;
use crate::top_level;

/// A task for the API.
#[derive(Debug, Clone)]
pub struct TaskFile {
    pub name: String,
    /// The API's task object (docs/rest.md#task-objects): what the file sets, and always `variables` and `condition`.
    pub request: Map<String, Value>,
    /// Things that do not mean what they seem to; may be empty.
    pub warnings: Report,
}

/// A file holds no task that can be sent.
#[derive(Debug, thiserror::Error)]
pub enum TaskFileError {
    /// The file has problems, every one of which is listed; uses of deprecated keys are among them.
    #[error(transparent)]
    Problems(Report),
    /// The file contains no task.
    #[error("task file must contain at least one task")]
    NoTask,
    /// There are several tasks in it.
    #[error("task file cannot contain more than 1 task, contains {0} tasks")]
    SeveralTasks(usize),
    /// Nothing is wrong with it but that it uses deprecated keys. One sentence for each, with the key or block to
    /// write instead.
    #[error("task file uses deprecated keys")]
    Deprecated(Vec<String>),
}

/// Reads the one task of a configuration file; other blocks in it are allowed and ignored.
///
/// Variable files are read here, their paths relative to the current directory. The module is not looked
/// for: it is on the machine of the server.
pub fn load_task_file(path: &Path, context: &LoadContext<'_>) -> Result<TaskFile, TaskFileError> {
    let sink = Sink::new(context.current_dir);
    let outcome = read(path, context, &sink);
    let (mut errors, warnings) = sink.into_parts();
    match outcome {
        Err(error) if errors.is_empty() => {
            if matches!(error, TaskFileError::NoTask) && !warnings.is_empty() {
                // They say why: the file was passed over, or its only block is empty.
                errors.extend(warnings);
                return Err(TaskFileError::Problems(Report::new(errors)));
            }
            Err(error)
        }
        Ok(mut file) if errors.is_empty() => {
            file.warnings = Report::new(warnings);
            Ok(file)
        }
        Ok(_) | Err(_) => Err(TaskFileError::Problems(Report::new(errors))),
    }
}

fn read(path: &Path, context: &LoadContext<'_>, sink: &Sink) -> Result<TaskFile, TaskFileError> {
    let (_, files) = read_all(&[path.to_owned()], sink);
    let parts: Vec<Part<'_>> = files.iter().map(Part::of_file).collect();
    let mut top = Block::new("", parts, sink);
    let mut tasks = top.repeated("task");
    for name in top_level::names(context) {
        top.places_of(name);
    }
    top.finish();
    if tasks.len() > 1 {
        return Err(TaskFileError::SeveralTasks(tasks.len()));
    }
    let block = tasks.pop().ok_or(TaskFileError::NoTask)?;
    let written = RawTask::decode(block, context.now);
    let mut files = VariableFiles::new(sink);
    let variables = variables(&written, &mut files);
    warn_of_losses(&written, sink);

    let mut deprecated = written.deprecated.iter().peekable();
    if deprecated.peek().is_some() {
        let uses = deprecated.map(DeprecatedKeyUse::refusal).collect();
        if sink.has_errors() {
            for used in &written.deprecated {
                used.refuse(sink);
            }
        }
        return Err(TaskFileError::Deprecated(uses));
    }
    let name = written.name.as_ref().map(|name| name.value.to_string());
    Ok(TaskFile {
        // Without a name there is an error, and this is not returned.
        name: name.unwrap_or_default(),
        request: request(&written, variables),
        warnings: Report::default(),
    })
}

/// Values of files beat those in the block, later files beat earlier ones.
fn variables(written: &RawTask, files: &mut VariableFiles<'_>) -> Map<String, Value> {
    let block = written.variables.iter();
    let mut variables: Map<String, Value> = block
        .map(|(name, variable)| (name.clone(), Value::from(variable.text.as_str())))
        .collect();
    for file in &written.variable_files {
        let values = files.read(file).into_iter();
        variables
            .extend(values.map(|(name, value)| (name, Value::from(expression_of(&value.value)))));
    }
    variables
}

/// Warns of settings that the API has no member for, or that mean something else there than in a
/// configuration file.
fn warn_of_losses(written: &RawTask, sink: &Sink) {
    let directory = written.working_dir.as_ref();
    let directory = directory.map(|path| ("working_dir", &path.place));
    let webhooks = written.webhooks.first();
    let webhooks = webhooks.map(|first| ("webhooks", &first.place));
    let others = written.file_keys.written.iter();
    let others = others.filter(|(name, _place)| *name != APPROVAL);
    for (name, place) in others.chain(directory).chain(webhooks) {
        let message = format!("`{name}` is not sent: the API has no such member");
        sink.warning(place, message);
    }
    if let Some(buffer) = &written.buffer
        && buffer.value.enabled != Some(false)
    {
        let unset = match (buffer.value.min, buffer.value.max) {
            (Some(_), None) => "`max` is sent as 0, which makes it equal to `min`",
            (None, Some(_)) => "`min` is sent as 0",
            (None, None) => "`min` and `max` are sent as 0",
            (Some(_), Some(_)) => return,
        };
        let message = format!("in a task file, {unset}: write both");
        sink.warning(&buffer.place, message);
    }
}

fn request(written: &RawTask, variables: Map<String, Value>) -> Map<String, Value> {
    let mut request = Map::new();
    let name = written.name.as_ref().map(|name| name.value.to_string());
    insert_some(&mut request, "name", name.as_ref());
    insert_some(&mut request, "description", written.description.as_ref());
    insert_some(&mut request, "enabled", written.enabled.as_ref());
    let module = written.module.as_ref().map(|module| &module.value);
    insert_some(&mut request, "module", module);
    let on_delete = written.on_delete.map(OnDelete::as_str);
    insert_some(&mut request, "on_delete", on_delete.as_ref());
    let approval = written.file_keys.settings.approval;
    let approval = approval.map(ApprovalRule::as_str);
    insert_some(&mut request, APPROVAL, approval.as_ref());
    insert_some(&mut request, "version", written.version.as_ref());
    if let Some(providers) = &written.providers {
        let ids = providers.iter().map(|id| Value::from(id.value.to_string()));
        request.insert("providers".to_owned(), ids.collect());
    }
    if let Some(outputs) = &written.outputs {
        let names = outputs.iter().map(|name| Value::from(name.value.as_str()));
        request.insert("outputs".to_owned(), names.collect());
    }
    let condition = match &written.condition {
        GivenCondition::Given(condition) => condition.value.object.clone(),
        GivenCondition::Absent | GivenCondition::Unknown => Map::new(),
    };
    request.insert("condition".to_owned(), Value::Object(condition));
    if !written.inputs.is_empty() {
        let inputs = written.inputs.iter().map(|input| {
            let content = Value::Object(input.value.object.clone());
            (input.value.input.variable().to_owned(), content)
        });
        request.insert("module_input".to_owned(), Value::Object(inputs.collect()));
    }
    request.insert("variables".to_owned(), Value::Object(variables));
    if let Some(buffer) = &written.buffer {
        request.insert(
            "buffer_period".to_owned(),
            Value::Object(buffer_object(buffer)),
        );
    }
    let deprecated = written.workspace.former_version.as_ref();
    let version = deprecated.map(|version| &version.value);
    insert_some(&mut request, "terraform_version", version);
    let workspace = &written.workspace.object;
    let workspace = (!workspace.is_empty()).then_some(workspace);
    insert_some(&mut request, "terraform_cloud_workspace", workspace);
    request
}

/// A missing `min` or `max` is sent as 0, as the original does (docs/cli.md#task-files).
fn buffer_object(buffer: &Located<BufferSetting>) -> Map<String, Value> {
    let mut object = Map::new();
    insert_some(&mut object, "enabled", buffer.value.enabled.as_ref());
    for (name, duration) in [("min", buffer.value.min), ("max", buffer.value.max)] {
        let text = duration_text(duration.unwrap_or_default());
        object.insert(name.to_owned(), Value::from(text));
    }
    object
}

/// Text in units that Go reads: seconds, and the nanoseconds that remain, if any.
fn duration_text(duration: Duration) -> String {
    let (seconds, nanoseconds) = (duration.as_secs(), duration.subsec_nanos());
    match (seconds, nanoseconds) {
        (_, 0) => format!("{seconds}s"),
        (0, _) => format!("{nanoseconds}ns"),
        _ => format!("{seconds}s{nanoseconds}ns"),
    }
}

/// Adds a member, unless it is unset.
fn insert_some<T: Clone + Into<Value>>(
    object: &mut Map<String, Value>,
    name: &str,
    value: Option<&T>,
) {
    if let Some(value) = value {
        object.insert(name.to_owned(), value.clone().into());
    }
}
