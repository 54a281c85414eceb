//! Task objects in answers (spec/api.md 9 and 10).

use std::collections::BTreeMap;

use cts_proto::task::v1 as proto;
use cts_rpc::convert::duration_from_wire;
use serde::Serialize;

use crate::duration_text::DurationText;
use crate::model::condition::{ConditionObject, ModuleInputObject};
use crate::request_log::RequestId;

/// All tasks.
#[derive(Debug, Serialize)]
pub(crate) struct TasksAnswer<'a> {
    pub(crate) request_id: RequestId,
    pub(crate) tasks: Vec<TaskObject<'a>>,
}

/// One task.
#[derive(Debug, Serialize)]
pub(crate) struct TaskAnswer<'a> {
    pub(crate) request_id: RequestId,
    pub(crate) task: TaskObject<'a>,
}

/// A task as configured, with empty defaults filled in.
#[derive(Debug, Serialize)]
pub(crate) struct TaskObject<'a> {
    condition: ConditionObject<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    buffer_period: Option<BufferPeriodObject>,
    description: &'a str,
    enabled: bool,
    module: &'a str,
    module_input: ModuleInputObject<'a>,
    name: &'a str,
    providers: &'a [String],
    variables: &'a BTreeMap<String, String>,
    version: &'a str,
}

#[derive(Debug, Serialize)]
struct BufferPeriodObject {
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    max: DurationText,
    min: DurationText,
}

impl<'a> From<&'a proto::Task> for TaskObject<'a> {
    fn from(task: &'a proto::Task) -> Self {
        Self {
            condition: ConditionObject::of(task.condition.as_ref()),
            buffer_period: task.buffer_period.as_ref().map(BufferPeriodObject::from),
            description: &task.description,
            enabled: task.enabled,
            module: &task.module,
            module_input: ModuleInputObject::of(&task.module_inputs),
            name: &task.name,
            providers: &task.providers,
            variables: &task.variables,
            version: &task.version,
        }
    }
}

impl From<&proto::BufferPeriod> for BufferPeriodObject {
    fn from(period: &proto::BufferPeriod) -> Self {
        Self {
            enabled: period.enabled,
            max: DurationText(duration_from_wire(period.max.as_ref())),
            min: DurationText(duration_from_wire(period.min.as_ref())),
        }
    }
}
