//! Answers about the states of tasks at this moment.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use cts_core::callers::TaskPatterns;
use cts_proto::task::v1::{
    GetTaskGridRequest, GetTaskGridResponse, ListCurrentStatesRequest, ListCurrentStatesResponse,
    ListTaskPageRequest, ListTaskPageResponse, NamedState, TaskState,
};

/// Answers one after the other, the last one again and again. Without answers each task has an unknown state.
#[derive(Debug, Clone, Default)]
pub(crate) struct CurrentAnswers {
    pub(crate) answers: Arc<Mutex<VecDeque<ListCurrentStatesResponse>>>,
    /// The versions in each call.
    pub(crate) asked: Arc<Mutex<Vec<Vec<String>>>>,
    /// The requests of pages.
    pub(crate) pages: Arc<Mutex<Vec<ListTaskPageRequest>>>,
    /// Number of requests of the grid.
    pub(crate) grids: Arc<Mutex<usize>>,
}

impl CurrentAnswers {
    pub(crate) fn next(
        &self,
        request: ListCurrentStatesRequest,
        tasks: &[TaskState],
    ) -> ListCurrentStatesResponse {
        self.asked.lock().unwrap().push(request.versions);
        let mut answers = self.answers.lock().unwrap();
        let newest = answers.front().cloned();
        if answers.len() > 1 {
            answers.pop_front();
        }
        newest.unwrap_or_else(|| ListCurrentStatesResponse {
            states: visible(tasks, Vec::new()),
            ..ListCurrentStatesResponse::default()
        })
    }

    /// All visible tasks, as a page of several.
    pub(crate) fn page(
        &self,
        request: ListTaskPageRequest,
        tasks: &[TaskState],
    ) -> ListTaskPageResponse {
        let states = visible(tasks, request.visible_tasks.clone());
        self.pages.lock().unwrap().push(request);
        ListTaskPageResponse {
            total: 200 + u32::try_from(states.len()).unwrap(),
            pages: 2,
            states,
        }
    }

    pub(crate) fn grid(
        &self,
        request: GetTaskGridRequest,
        tasks: &[TaskState],
    ) -> GetTaskGridResponse {
        *self.grids.lock().unwrap() += 1;
        let tasks = visible(tasks, request.visible_tasks);
        GetTaskGridResponse {
            grid: "?".repeat(tasks.len()),
        }
    }
}

/// The tasks that match the patterns, with unknown states.
fn visible(tasks: &[TaskState], patterns: Vec<String>) -> Vec<NamedState> {
    let patterns = TaskPatterns::new(patterns).unwrap();
    let tasks = tasks.iter().map(|task| &task.task_name);
    tasks
        .filter(|name| patterns.matches(name))
        .map(|name| NamedState {
            task_name: name.clone(),
            state: None,
        })
        .collect()
}
