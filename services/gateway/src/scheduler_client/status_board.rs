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
use cts_core::callers::TaskPatterns;
use cts_proto::json::{LocalTime, in_local_time};
use cts_proto::task::v1::TaskState;
use cts_rpc::ConversionError;

use crate::json;
use crate::model::{OverallStatusAnswer, TaskStatusAnswer, TaskStatusesAnswer};
use crate::request::query::StatusQuery;
use crate::scheduler_client::single_flight::SingleFlight;
use crate::scheduler_client::{CallError, TaskClient};

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

/// The states that an answer is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Listed {
    status: Option<TaskStatus>,
    include_events: bool,
}

impl Page {
    const fn listed(self) -> Listed {
        match self {
            Self::Overall => Listed {
                status: None,
                include_events: false,
            },
            Self::Statuses {
                status,
                include_events,
            } => Listed {
                status,
                include_events,
            },
        }
    }
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

/// States of all tasks, or the error of the call.
type States = Result<Arc<Vec<TaskState>>, Arc<CallError>>;

/// Most lists of states that are kept for callers who may see only some tasks.
const LISTS: usize = 2;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct StatusBoard(Arc<Inner>);

struct Inner {
    questions: TaskClient,
    turns: Mutex<HashMap<Page, Arc<SingleFlight<Answer>>>>,
    lists: Mutex<HashMap<Listed, Arc<SingleFlight<States>>>>,
    kept: Mutex<Kept>,
    local_time: LocalTime,
}

/// Bodies and states of one version.
#[derive(Debug, Default)]
struct Kept {
    version: String,
    bodies: HashMap<Page, Bytes>,
    /// The list that was used last is the first.
    lists: Vec<(Listed, Arc<Vec<TaskState>>)>,
}

impl Kept {
    /// Forgets the entries of other versions.
    fn turn_to(&mut self, version: String) {
        if self.version != version {
            *self = Self {
                version,
                ..Self::default()
            };
        }
    }
}

impl StatusBoard {
    pub(crate) fn new(questions: TaskClient, local_time: LocalTime) -> Self {
        Self(Arc::new(Inner {
            questions,
            turns: Mutex::default(),
            lists: Mutex::default(),
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

    /// The body of an answer about these tasks only. All such callers share one request for states, so the answer costs
    /// a scheduler no more than an answer about all tasks.
    pub(crate) async fn page_of(&self, page: Page, tasks: &TaskPatterns) -> Answer {
        let listed = page.listed();
        let turns = {
            let mut lists = self.0.lists.lock();
            Arc::clone(lists.entry(listed).or_default())
        };
        let inner = Arc::clone(&self.0);
        let states = turns
            .join(|| async move { inner.states(listed).await.map_err(Arc::new) })
            .await?;
        let shown = states.iter();
        let shown = shown.filter(|state| tasks.matches(&state.task_name));
        let body = self.0.made(page, shown);
        let body = body.map_err(|error| Arc::new(CallError::from(error)))?;
        Ok(Bytes::from(body))
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
        let states = self.read(page.listed()).await?;
        let body = Bytes::from(self.made(page, states.iter())?);
        let mut kept = self.kept.lock();
        kept.turn_to(version);
        kept.bodies.insert(page, body.clone());
        Ok(body)
    }

    /// The states of a list, as new as if they had been read for this request.
    async fn states(&self, listed: Listed) -> Result<Arc<Vec<TaskState>>, CallError> {
        let version = self.questions.version().await?;
        {
            let mut kept = self.kept.lock();
            let place = kept.lists.iter().position(|(known, _)| *known == listed);
            if kept.version == version
                && let Some(place) = place
            {
                kept.lists[..=place].rotate_right(1);
                return Ok(Arc::clone(&kept.lists[0].1));
            }
        }
        let states = Arc::new(self.read(listed).await?);
        let mut kept = self.kept.lock();
        kept.turn_to(version);
        kept.lists.retain(|(known, _)| *known != listed);
        kept.lists.insert(0, (listed, Arc::clone(&states)));
        kept.lists.truncate(LISTS);
        Ok(states)
    }

    async fn read(&self, listed: Listed) -> Result<Vec<TaskState>, CallError> {
        let Listed {
            status,
            include_events,
        } = listed;
        self.questions.states(status, include_events).await
    }

    /// Makes a page of these states.
    fn made<'a>(
        &self,
        page: Page,
        states: impl Iterator<Item = &'a TaskState>,
    ) -> Result<Vec<u8>, ConversionError> {
        match page {
            Page::Overall => Ok(json::line(&OverallStatusAnswer::count(states)?)),
            Page::Statuses { .. } => {
                let answer: TaskStatusesAnswer<'_> = states
                    .map(TaskStatusAnswer::new)
                    .collect::<Result<_, ConversionError>>()?;
                Ok(in_local_time(&self.local_time, || json::line(&answer)))
            }
        }
    }
}
