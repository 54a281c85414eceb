//! The overview and the states of all tasks, made at a bounded rate for all who ask.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use cts_core::callers::TaskPatterns;
use cts_proto::json::{LocalTime, in_local_time};
use cts_proto::task::v1::ListTaskPageRequest;
use cts_rpc::Paced;
use serde::Serialize;

use crate::json;
use crate::scheduler_client::state_list::StateList;
use crate::scheduler_client::{CallError, ClusterClient, TaskClient};

/// Shortest time between two calls of a scheduler.
const PAUSE: Duration = Duration::from_millis(100);

/// Most schedulers whose lists are kept.
const LISTS: usize = 8;

/// Members of an object that is the answer, or the error of the call.
type Object = Result<Bytes, Arc<CallError>>;

/// Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct OverviewBoard(Arc<Inner>);

struct Inner {
    cluster: ClusterClient,
    tasks: TaskClient,
    local_time: LocalTime,
    overview: Paced<Bytes, Arc<CallError>>,
    states: Paced<Bytes, Arc<CallError>>,
    grid: Paced<Bytes, Arc<CallError>>,
    kept: Mutex<Kept>,
}

/// Any scheduler may answer, and each counts its changes by itself.
#[derive(Debug, Default)]
struct Kept {
    /// The list of the scheduler that answered last is the first.
    lists: Vec<StateList>,
    /// The object with all tasks of the first list.
    all: Bytes,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").finish_non_exhaustive()
    }
}

impl OverviewBoard {
    pub(crate) fn new(cluster: ClusterClient, tasks: TaskClient, local_time: LocalTime) -> Self {
        Self(Arc::new(Inner {
            cluster,
            tasks,
            local_time,
            overview: Paced::new(PAUSE),
            states: Paced::new(PAUSE),
            grid: Paced::new(PAUSE),
            kept: Mutex::default(),
        }))
    }

    /// The condition of everything.
    pub(crate) async fn overview(&self) -> Object {
        let inner = Arc::clone(&self.0);
        let ask = || async move {
            let overview = inner.cluster.overview().await.map_err(Arc::new)?;
            Ok(inner.object(&overview))
        };
        self.0.overview.get(ask).await
    }

    /// The condition of these tasks.
    pub(crate) async fn overview_of(&self, tasks: &TaskPatterns) -> Object {
        let overview = self.0.cluster.overview_of(tasks).await.map_err(Arc::new)?;
        Ok(self.0.object(&overview))
    }

    /// A page of the states of `visible` tasks; `None` for all tasks.
    pub(crate) async fn page(
        &self,
        request: ListTaskPageRequest,
        visible: Option<&TaskPatterns>,
    ) -> Object {
        let page = self.0.tasks.page(request, visible).await;
        Ok(self.0.object(&page.map_err(Arc::new)?))
    }

    /// One character for the state of each `visible` task; `None` for all tasks.
    pub(crate) async fn grid(&self, visible: Option<TaskPatterns>) -> Object {
        let (inner, is_all) = (Arc::clone(&self.0), visible.is_none());
        let ask = || async move {
            let grid = inner.tasks.grid(visible.as_ref()).await;
            Ok(inner.object(&grid.map_err(Arc::new)?))
        };
        if is_all {
            self.0.grid.get(ask).await
        } else {
            ask().await
        }
    }

    /// The states of all tasks.
    pub(crate) async fn states(&self) -> Object {
        let inner = Arc::clone(&self.0);
        let ask = || async move { inner.changed().await.map_err(Arc::new) };
        self.0.states.get(ask).await
    }

    /// The states of these tasks only.
    pub(crate) async fn states_of(&self, tasks: &TaskPatterns) -> Object {
        self.states().await?;
        let kept = self.0.kept.lock();
        let list = kept.lists.first();
        let object = list.map(|list| list.object(|name| tasks.matches(name)));
        Ok(object.unwrap_or_default().into())
    }
}

impl Inner {
    /// The members of a message.
    fn object<T: Serialize>(&self, message: &T) -> Bytes {
        in_local_time(&self.local_time, || json::line(message)).into()
    }

    /// Requests the changes, and returns all states.
    async fn changed(&self) -> Result<Bytes, CallError> {
        let versions = {
            let kept = self.kept.lock();
            let versions = kept.lists.iter().map(StateList::version);
            let versions = versions.filter(|version| !version.is_empty());
            versions.map(str::to_owned).collect()
        };
        let changes = self.tasks.changed_states(versions).await?;
        let mut kept = self.kept.lock();
        let follows =
            |list: &StateList| !changes.after.is_empty() && list.version() == changes.after;
        let place = kept.lists.iter().position(follows);
        let is_same = place == Some(0) && changes.version == changes.after;
        if !is_same {
            let mut list = place
                .map(|place| kept.lists.remove(place))
                .unwrap_or_default();
            list.change(changes, &self.local_time);
            let bytes = list.bytes();
            kept.all = list.object(|_| true).into();
            kept.lists.insert(0, list);
            kept.lists.truncate(LISTS);
            self.tasks.check_length(bytes)?;
        }
        Ok(kept.all.clone())
    }
}
