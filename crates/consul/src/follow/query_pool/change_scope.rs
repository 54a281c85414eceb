//! Scope of queries that are answered from the same data: a few cheap queries show when to read these queries again.
//!
//! No single index covers all changes: checks do not change the index of the catalog, an instance without a check or a
//! changed port changes only that index, and a node's address changes only the list of nodes.
//!
//! Three queries notice the changes of services, one query the changes of keys:
//!
//! * `catalog/services` moves with instances, ports and tags. Consul 1.8 has no filter for it, so the answer has all
//!   names.
//! * `health/state/any` moves with checks, and `catalog/nodes` with addresses and meta data of nodes. Both queries
//!   carry a filter that nothing passes, so their answers are empty.
//! * `kv/?keys` up to the first slash moves with keys.
//!
//! Reading 5,000 services again costs Consul half a second of two cores. Therefore the reads wait for 2 s if a held
//! query was just answered with the changed index. The delay applies only to `catalog/services`: a check or an address
//! of a node changes many services, and only some of them have a held query.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::client::ConsulClient;
use crate::follow::poll::poll;
use crate::follow::poll_event::PollEvent;
use crate::query::{ChangeProbe, ProbeKind, Query};

/// Time for the answers to held queries to come as well.
const GATHER: Duration = Duration::from_millis(5);
/// Delay of the reads after a change that the answer to a held query explains: the answer may stand for several
/// writes.
const DOUBT: Duration = Duration::from_secs(2);
/// Answers that are remembered.
const REMEMBERED: usize = 512;

/// Scope that one set of cheap queries watches over.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ScopeKey {
    is_kv: bool,
    datacenter: String,
    namespace: String,
}

/// Counts what changes in a scope.
#[derive(Debug)]
pub(super) struct ChangeScope {
    /// Rounds of changes; the first is the beginning.
    pub(super) round: watch::Sender<u64>,
    /// Indexes of answers to held queries.
    answered: Mutex<VecDeque<u64>>,
}

/// Runs until it is dropped.
#[derive(Debug)]
pub(super) struct ChangeProbes(
    #[expect(dead_code, reason = "its end is the end of the task")] JoinSet<Infallible>,
);

/// A possible change, with its index if the answer to a held query may explain it.
struct Moved(Option<u64>);

impl ScopeKey {
    /// Returns the key of a query; `None` if the query has to be held itself.
    pub(super) fn of(query: &Query) -> Option<Self> {
        let (is_kv, datacenter, namespace) = match query {
            Query::Health { view, .. } => (false, &view.datacenter, &view.namespace),
            Query::Kv(query) => (true, &query.datacenter, &query.namespace),
            Query::Catalog { .. } | Query::ChangeProbe(_) => return None,
        };
        Some(Self {
            is_kv,
            datacenter: datacenter.clone(),
            namespace: namespace.clone(),
        })
    }

    /// Number of queries that watch this scope.
    pub(super) fn probes(&self) -> usize {
        self.kinds().len()
    }

    fn kinds(&self) -> &'static [ProbeKind] {
        if self.is_kv {
            &[ProbeKind::Keys]
        } else {
            &[ProbeKind::Services, ProbeKind::Checks, ProbeKind::Nodes]
        }
    }
}

impl Default for ChangeScope {
    fn default() -> Self {
        Self {
            round: watch::Sender::new(1),
            answered: Mutex::default(),
        }
    }
}

impl ChangeScope {
    /// Notes that a held query was answered with this index.
    pub(super) fn answered(&self, index: u64) {
        let mut answered = self.answered.lock();
        if answered.len() == REMEMBERED {
            answered.pop_front();
        }
        answered.push_back(index);
    }

    fn explains(&self, index: u64) -> bool {
        self.answered.lock().contains(&index)
    }

    fn next_round(&self) {
        self.round.send_modify(|round| *round += 1);
    }
}

impl ChangeProbes {
    pub(super) fn start(client: ConsulClient, key: &ScopeKey, scope: Arc<ChangeScope>) -> Self {
        let key = key.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let (moved, moves) = mpsc::unbounded_channel();
            let queries = key.kinds().iter().map(|&kind| {
                let query = Query::ChangeProbe(ChangeProbe {
                    kind,
                    datacenter: key.datacenter.clone(),
                    namespace: key.namespace.clone(),
                });
                watch_over(&client, query, kind, moved.clone())
            });
            tokio::select! {
                never = count(&scope, moves) => never,
                _all = join_all(queries) => std::future::pending().await,
            }
        });
        Self(tasks)
    }
}

/// Reports changes that one of the cheap queries notices.
async fn watch_over(
    client: &ConsulClient,
    query: Query,
    kind: ProbeKind,
    moved: mpsc::UnboundedSender<Moved>,
) -> Infallible {
    poll(client, &query, |event| {
        let at = match event {
            // A node has many services, and only some of them have a held query.
            PollEvent::Snapshot { index, .. } => {
                matches!(kind, ProbeKind::Services).then_some(index)
            }
            PollEvent::Read { .. } => return,
            // No change can be ruled out any more. The other queries find the changes, or find that Consul
            // cannot be asked.
            PollEvent::Failure {
                error, failures, ..
            } => {
                // The views log an outage.
                if failures == 1 && !error.is_outage() {
                    tracing::warn!(
                        query = %query,
                        error = error.report(),
                        "consul cannot be asked for changes; views that do not wait themselves are read at every try"
                    );
                }
                None
            }
        };
        // The receiver lives as long as this.
        drop(moved.send(Moved(at)));
    })
    .await
}

/// Counts rounds of changes.
async fn count(scope: &ChangeScope, mut moves: mpsc::UnboundedReceiver<Moved>) -> Infallible {
    let mut doubtful: Option<Instant> = None;
    loop {
        let moved = tokio::select! {
            Some(moved) = moves.recv() => Some(moved),
            () = at(doubtful) => None,
        };
        if let Some(Moved(Some(index))) = moved {
            sleep(GATHER).await;
            if scope.explains(index) {
                doubtful.get_or_insert_with(|| Instant::now() + DOUBT);
                continue;
            }
        }
        doubtful = None;
        // Changes that arrived in between are in the same round.
        while moves.try_recv().is_ok() {}
        scope.next_round();
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
