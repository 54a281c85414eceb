//! Runs page by page.

use cts_core::runs::RunStatus;
use cts_core::{RunId, TaskName};
use cts_proto::run::v1 as proto;
use cts_store::{RunFilter, RunRecord};
use tonic::Status;

use crate::grpc::wire::run_to_wire;

/// Runs of a page, where the caller does not say.
const USUAL: u32 = 100;

/// Most runs of a page.
const MOST: u32 = 1000;

/// Longest page in bytes, which has to fit into one message; one with errors that are longer is shorter.
const BYTES: usize = 2 * 1024 * 1024;

/// A request for one page of runs.
#[derive(Debug)]
pub(super) struct Page {
    /// Asks for one run more than the page has, which shows whether another page follows.
    pub(super) filter: RunFilter,
}

impl Page {
    /// `None` if no task can have the requested name, so that it has no runs.
    pub(super) fn of(request: &proto::ListRunsRequest) -> Result<Option<Self>, Status> {
        let size = match request.page_size {
            0 => USUAL,
            size => size.min(MOST),
        };
        let task = match request.task_name.as_str() {
            "" => None,
            name => match name.parse::<TaskName>() {
                Ok(name) => Some(name),
                Err(_no_name) => return Ok(None),
            },
        };
        let after = match request.page_token.as_str() {
            "" => None,
            token => Some(token.parse::<RunId>().map_err(|_no_token| {
                Status::invalid_argument(format!("{token:?} is no page token"))
            })?),
        };
        Ok(Some(Self {
            filter: RunFilter {
                task,
                status: status(request.status()),
                after,
                limit: size + 1,
            },
        }))
    }

    pub(super) fn response(&self, records: Vec<RunRecord>) -> proto::ListRunsResponse {
        let all = records.len();
        let size = self.filter.limit as usize - 1;
        let mut bytes = 0;
        let mut runs: Vec<proto::Run> = Vec::new();
        for run in records.into_iter().take(size).map(run_to_wire) {
            bytes += prost::Message::encoded_len(&run);
            if bytes > BYTES && !runs.is_empty() {
                break;
            }
            runs.push(run);
        }
        let last = runs.last().filter(|_| runs.len() < all);
        proto::ListRunsResponse {
            next_page_token: last.map(|run| run.id.clone()).unwrap_or_default(),
            runs,
        }
    }
}

fn status(status: proto::RunStatus) -> Option<RunStatus> {
    match status {
        proto::RunStatus::Unspecified => None,
        proto::RunStatus::Queued => Some(RunStatus::Queued),
        proto::RunStatus::Running => Some(RunStatus::Running),
        proto::RunStatus::Succeeded => Some(RunStatus::Succeeded),
        proto::RunStatus::Failed => Some(RunStatus::Failed),
        proto::RunStatus::Cancelled => Some(RunStatus::Cancelled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use cts_core::runs::RunKind;
    use cts_core::{Digest, TaskName};
    use uuid::Uuid;

    /// Largest message, in bytes, that a client accepts if it names no limit.
    const USUAL_LIMIT: usize = 4 * 1024 * 1024;

    fn record(number: u128, errors: Vec<String>) -> RunRecord {
        RunRecord {
            waiting_for: None,
            remote_run: None,
            id: RunId::from_uuid(Uuid::from_u128(number)),
            task: TaskName::new("t").unwrap(),
            kind: RunKind::Apply,
            no_retry: false,
            status: RunStatus::Failed,
            input: Digest::of(b"input"),
            attempts: 3,
            errors,
            plan: None,
            details: None,
            created_at: DateTime::UNIX_EPOCH,
            due_at: DateTime::UNIX_EPOCH,
            started_at: None,
            finished_at: None,
            requested_by: None,
            worker: None,
            phase: None,
            trace: None,
            cause: None,
        }
    }

    /// An earlier version stored errors of any length.
    #[test]
    fn a_run_with_errors_of_any_length_can_be_listed() {
        let long = || vec!["long ".repeat(1024 * 1024); 20];
        let records = vec![
            record(3, Vec::new()),
            record(2, long()),
            record(1, Vec::new()),
        ];
        let page = Page::of(&proto::ListRunsRequest::default());
        let page = page.unwrap().unwrap().response(records);
        assert_eq!(page.runs.len(), 3);
        assert!(prost::Message::encoded_len(&page) < USUAL_LIMIT);
        assert!(page.runs[1].error.contains("bytes are left out here"));
    }
}
