//! Answers about the states of tasks at this moment.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use cts_proto::task::v1::{ListCurrentStatesRequest, ListCurrentStatesResponse};
use tonic::Status;

/// Answers one after the other, the last one again and again. Without answers the call is not known, as with a scheduler
/// of an earlier version.
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
    ) -> Result<ListCurrentStatesResponse, Status> {
        self.asked.lock().unwrap().push(request.versions);
        let mut answers = self.answers.lock().unwrap();
        let newest = answers.front().cloned();
        if answers.len() > 1 {
            answers.pop_front();
        }
        newest.ok_or_else(|| Status::unimplemented("of a later version"))
    }
}
