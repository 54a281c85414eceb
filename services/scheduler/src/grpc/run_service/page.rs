//! Runs page by page.

use std::collections::BTreeSet;

use cts_core::callers::TaskPatterns;
use cts_core::runs::RunStatus;
use cts_core::{RunId, TaskName};
use cts_proto::run::v1 as proto;
use cts_store::{RunFilter, RunRecord, Store, StoreError};
use tonic::Status;

use super::causes::cause_id;
use crate::wire::{run_to_wire, visible_tasks};

/// Runs of a page, if the caller names no number.
const USUAL: u32 = 100;

/// Most runs of a page.
const MOST: u32 = 1000;

/// Longest page in bytes, which has to fit into one message; long errors make a page shorter.
const BYTES: usize = 2 * 1024 * 1024;

/// Most names of visible tasks for which runs are listed by task. If more are visible, they have so large a share of all
/// runs that a page of all runs has some of theirs.
const NAMES: u32 = 64;

/// A request for one page of runs.
#[derive(Debug)]
pub(super) struct Page {
    /// The tasks whose runs the page may have.
    visible: TaskPatterns,
    /// Has a limit of one run more than the page, which shows whether another page follows.
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
        let visible = match task {
            Some(_) => TaskPatterns::default(),
            None => visible_tasks(request.visible_tasks.clone())?,
        };
        Ok(Some(Self {
            visible,
            filter: RunFilter {
                task,
                tasks: None,
                status: status(request.status()),
                awaits: request.awaits_consent,
                cause: cause_id(&request.cause_id)?,
                after,
                limit: size + 1,
            },
        }))
    }

    /// Reads the page.
    pub(super) async fn read(
        mut self,
        store: &dyn Store,
    ) -> Result<proto::ListRunsResponse, StoreError> {
        self.filter.tasks = self.names(store).await?;
        let records = store.runs(&self.filter).await?;
        Ok(self.response(records))
    }

    /// The visible tasks that have runs; `None` if these are all or many.
    async fn names(&self, store: &dyn Store) -> Result<Option<Vec<TaskName>>, StoreError> {
        if self.visible.is_all() {
            return Ok(None);
        }
        let mut names = BTreeSet::new();
        let mut looked_at = 0;
        for beginning in self.visible.beginnings() {
            let found = store.tasks_with_runs(beginning, NAMES + 1).await?;
            looked_at += found.len();
            if looked_at > NAMES as usize {
                return Ok(None);
            }
            let visible = found.into_iter();
            names.extend(visible.filter(|name| self.visible.matches(name.as_str())));
        }
        Ok(Some(names.into_iter().collect()))
    }

    fn response(&self, records: Vec<RunRecord>) -> proto::ListRunsResponse {
        let all = records.len();
        let size = self.filter.limit as usize - 1;
        let (mut bytes, mut read, mut last) = (0, 0, String::new());
        let mut runs: Vec<proto::Run> = Vec::new();
        for run in records.into_iter().take(size).map(run_to_wire) {
            let is_visible = self.visible.matches(&run.task_name);
            if is_visible {
                bytes += prost::Message::encoded_len(&run);
                if bytes > BYTES && !runs.is_empty() {
                    break;
                }
            }
            read += 1;
            last.clone_from(&run.id);
            if is_visible {
                runs.push(run);
            }
        }
        proto::ListRunsResponse {
            next_page_token: if read < all { last } else { String::new() },
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
            awaits: None,
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

    #[test]
    fn a_page_goes_on_after_runs_that_are_not_visible() {
        let named = |number, name: &str| RunRecord {
            task: TaskName::new(name).unwrap(),
            ..record(number, Vec::new())
        };
        let response = |page_size, records: &[RunRecord]| {
            let request = proto::ListRunsRequest {
                page_size,
                visible_tasks: vec!["web-*".to_owned()],
                ..proto::ListRunsRequest::default()
            };
            let page = Page::of(&request).unwrap().unwrap();
            let page = page.response(records.to_vec());
            let names: Vec<_> = page.runs.into_iter().map(|run| run.task_name).collect();
            (names, page.next_page_token)
        };
        let id = |number| record(number, Vec::new()).id.to_string();
        let records = [named(9, "web-1"), named(8, "a"), named(7, "b")];
        assert_eq!(response(2, &records), (vec!["web-1".to_owned()], id(8)));
        assert_eq!(
            response(3, &records),
            (vec!["web-1".to_owned()], String::new())
        );
        assert_eq!(response(1, &records[1..]), (Vec::new(), id(8)));
        let request = proto::ListRunsRequest {
            visible_tasks: vec!["web-[".to_owned()],
            ..proto::ListRunsRequest::default()
        };
        assert!(Page::of(&request).is_err());
    }

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
