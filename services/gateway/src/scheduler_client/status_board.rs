//! Answers about all tasks at once, rebuilt only when something has changed.
//!
//! Dashboards and scripts request the status of all tasks again and again. Each time, one call for all
//! waiting requests gets the version of the states from the scheduler; the states are read only if the
//! version changed.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use cts_core::TaskStatus;
use cts_core::access::TaskPatterns;
use cts_proto::json::{LocalTime, in_local_time};
use cts_proto::task::v1::TaskState;
use cts_rpc::ConversionError;

use crate::model::{OverallStatusAnswer, TaskStatusAnswer, TaskStatusesAnswer};
use crate::request::query::StatusQuery;
use crate::scheduler_client::single_flight::SingleFlight;
use crate::scheduler_client::{CallError, TaskClient};
use crate::transport::json;

/// The kind of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Page {
    /// The counts of all tasks.
    Overall,
    /// The status of all tasks, or of the tasks of one status.
    Statuses {
        /// Only these.
        status: Option<TaskStatus>,
        /// With the newest events.
        include_events: bool,
    },
}

impl From<StatusQuery> for Page {
    fn from(query: StatusQuery) -> Self {
        Self::Statuses {
            status: query.status,
            include_events: query.include_events,
        }
    }
}

/// Body of an answer, or the error of the call.
type Answer = Result<Bytes, Arc<CallError>>;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct StatusBoard(Arc<Inner>);

struct Inner {
    questions: TaskClient,
    turns: Mutex<HashMap<Page, Arc<SingleFlight<Answer>>>>,
    kept: Mutex<Kept>,
    local_time: LocalTime,
}

/// Bodies of one version.
#[derive(Debug, Default)]
struct Kept {
    version: String,
    bodies: HashMap<Page, Bytes>,
}

impl StatusBoard {
    pub(crate) fn new(questions: TaskClient, local_time: LocalTime) -> Self {
        Self(Arc::new(Inner {
            questions,
            turns: Mutex::default(),
            kept: Mutex::default(),
            local_time,
        }))
    }

    /// The body of an answer, as new as if it had been made for this request.
    pub(crate) async fn page(&self, page: Page) -> Answer {
        let turns = {
            let mut turns = self.0.turns.lock();
            Arc::clone(turns.entry(page).or_default())
        };
        let inner = Arc::clone(&self.0);
        turns
            .join(|| async move { inner.look(page).await.map_err(Arc::new) })
            .await
    }

    /// The body of an answer about these tasks only, made for this request.
    pub(crate) async fn page_of(&self, page: Page, tasks: &TaskPatterns) -> Answer {
        let body = self.0.made(page, Some(tasks)).await;
        body.map(Bytes::from).map_err(Arc::new)
    }
}

impl Inner {
    async fn look(&self, page: Page) -> Result<Bytes, CallError> {
        // Read before the states, so that these are not older.
        let version = self.questions.version().await?;
        {
            let kept = self.kept.lock();
            if kept.version == version
                && let Some(body) = kept.bodies.get(&page)
            {
                return Ok(body.clone());
            }
        }
        let body = Bytes::from(self.made(page, None).await?);
        let mut kept = self.kept.lock();
        if kept.version != version {
            *kept = Kept {
                version,
                bodies: HashMap::new(),
            };
        }
        kept.bodies.insert(page, body.clone());
        Ok(body)
    }

    /// Makes a page, of these tasks only if some are given.
    async fn made(&self, page: Page, tasks: Option<&TaskPatterns>) -> Result<Vec<u8>, CallError> {
        let shown = |mut states: Vec<TaskState>| {
            states.retain(|state| tasks.is_none_or(|tasks| tasks.matches(&state.task_name)));
            states
        };
        match page {
            Page::Overall => {
                let states = shown(self.questions.states(None, false).await?);
                Ok(json::line(&OverallStatusAnswer::count(&states)?))
            }
            Page::Statuses {
                status,
                include_events,
            } => {
                let states = shown(self.questions.states(status, include_events).await?);
                let answer: TaskStatusesAnswer<'_> = states
                    .iter()
                    .map(TaskStatusAnswer::new)
                    .collect::<Result<_, ConversionError>>()?;
                Ok(in_local_time(&self.local_time, || json::line(&answer)))
            }
        }
    }
}
