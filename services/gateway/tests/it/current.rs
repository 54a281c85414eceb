//! Answers about the states of tasks at this moment.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use cts_proto::task::v1::{
    ListCurrentStatesRequest, ListCurrentStatesResponse, NamedState, TaskState,
};

/// Answers one after the other, the last one again and again. Without answers each task has an unknown state.
#[derive(Debug, Clone, Default)]
pub(crate) struct CurrentAnswers {
    pub(crate) answers: Arc<Mutex<VecDeque<ListCurrentStatesResponse>>>,
    /// The versions in each call.
    pub(crate) asked: Arc<Mutex<Vec<Vec<String>>>>,
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
            states: tasks
                .iter()
                .map(|task| NamedState {
                    task_name: task.task_name.clone(),
                    state: None,
                })
                .collect(),
            ..ListCurrentStatesResponse::default()
        })
    }
}
