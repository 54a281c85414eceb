//! Members of the pool: the queries that are followed, and the slots that they share.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::change_scope::{ChangeProbes, ChangeScope, ScopeKey};
use super::readers::{ReadPermit, Readers};
use super::slot_allocator::{MemberId, Rank, Renewal, SlotAllocator};
use crate::client::ConsulClient;
use crate::http2_pool::STREAMS;
use crate::settings::{WAIT_TIME, readers_of};

/// Connections for all other requests to Consul.
const SPARE: usize = 4;
/// Connections for learning of changes in one datacenter and namespace: services and keys.
const PROBES: usize = 4;
/// How long Consul holds a query while other queries have no slot. Each end of a wait is a chance for them.
const SHORT_WAIT_TIME: Duration = Duration::from_secs(20);

/// How many queries are followed, and how much room they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Followed queries.
    pub queries: usize,
    /// Queries that Consul may hold open at the same time.
    pub held: usize,
    /// The most queries that are held open.
    pub slots: usize,
    /// The most connections to Consul, for everything.
    pub connections: usize,
}

/// All members of a pool.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) client: ConsulClient,
    /// Connections for requests at the same time; the HTTP library may keep some more that are unused.
    connections: usize,
    readers_count: usize,
    pub(super) readers: Readers,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    allocator: SlotAllocator,
    last_id: MemberId,
    is_known_to_be_many: bool,
    /// For each member, whether it may hold its query open.
    may_block: HashMap<MemberId, watch::Sender<bool>>,
    scopes: HashMap<ScopeKey, ScopeMembers>,
}

#[derive(Debug)]
struct ScopeMembers {
    scope: Arc<ChangeScope>,
    count: usize,
    /// Present while some members have no slot.
    probes: Option<ChangeProbes>,
}

impl Members {
    pub(super) fn new(client: ConsulClient) -> Self {
        let all = client.most_connections();
        let readers_count = readers_of(all);
        let connections = all.saturating_sub(readers_count + SPARE).max(1);
        Self {
            client,
            connections,
            readers_count,
            readers: Readers::new(readers_count),
            started: Instant::now(),
            state: Mutex::new(State {
                allocator: SlotAllocator::new(0),
                last_id: 0,
                is_known_to_be_many: false,
                may_block: HashMap::new(),
                scopes: HashMap::new(),
            }),
        }
    }

    /// Adds a member. Returns the member's id, its scope, and whether it may hold its query open.
    pub(super) fn join(
        &self,
        key: Option<&ScopeKey>,
    ) -> (MemberId, Option<Arc<ChangeScope>>, watch::Receiver<bool>) {
        let (sender, may_block) = watch::channel(key.is_none());
        let mut state = self.state.lock();
        state.last_id += 1;
        let id = state.last_id;
        state.allocator.join(id, key.is_none());
        state.may_block.insert(id, sender);
        let scope = key.map(|key| {
            let members = state
                .scopes
                .entry(key.clone())
                .or_insert_with(|| ScopeMembers {
                    scope: Arc::default(),
                    count: 0,
                    probes: None,
                });
            members.count += 1;
            Arc::clone(&members.scope)
        });
        self.settle(&mut state);
        (id, scope, may_block)
    }

    pub(super) fn leave(&self, id: MemberId, key: Option<&ScopeKey>) {
        let mut state = self.state.lock();
        state.allocator.leave(id);
        state.may_block.remove(&id);
        if let Some(key) = key
            && let Some(members) = state.scopes.get_mut(key)
        {
            members.count -= 1;
            if members.count == 0 {
                state.scopes.remove(key);
            }
        }
        self.settle(&mut state);
    }

    pub(super) fn changed(&self, id: MemberId) {
        let now = self.started.elapsed();
        self.state.lock().allocator.changed(id, now);
    }

    /// Whether a holder may go on with another request, and how long Consul may hold it.
    pub(super) fn renew(&self, id: MemberId) -> Option<Duration> {
        let mut state = self.state.lock();
        if let Renewal::MakesRoom(other) = state.allocator.renew(id) {
            state.set_may_block(id, false);
            if let Some(other) = other {
                state.set_may_block(other, true);
            }
            return None;
        }
        Some(if state.allocator.has_others() {
            SHORT_WAIT_TIME
        } else {
            WAIT_TIME
        })
    }

    /// The connections turn out to carry many requests each.
    pub(super) fn learn(&self) {
        self.settle(&mut self.state.lock());
    }

    /// Gives free slots to members without a slot, and watches for changes on behalf of the other members.
    fn settle(&self, state: &mut State) {
        for id in state.allocator.settle(self.slots(state)) {
            state.set_may_block(id, true);
        }
        let is_needed = state.allocator.has_others();
        if is_needed && !std::mem::replace(&mut state.is_known_to_be_many, true) {
            tracing::info!(
                connections = self.client.most_connections(),
                "there are more views than connections to consul: those that change most often are waited on, the others are read when something has changed"
            );
        }
        for (key, members) in &mut state.scopes {
            match &members.probes {
                None if is_needed => {
                    let scope = Arc::clone(&members.scope);
                    let probes = ChangeProbes::start(self.client.clone(), key, scope);
                    members.probes = Some(probes);
                }
                Some(_) if !is_needed => members.probes = None,
                _ => {}
            }
        }
    }

    /// Connections for readers and probes are always kept: a query that Consul holds cannot be ended soon.
    fn slots(&self, state: &State) -> usize {
        if self.client.is_multiplexed() {
            return self.connections * STREAMS;
        }
        let probes: usize = state.scopes.keys().map(ScopeKey::probes).sum();
        let others = self.readers_count + probes.max(PROBES);
        self.connections.saturating_sub(others)
    }

    /// The members, and their use of slots.
    pub(super) fn usage(&self) -> Usage {
        let state = self.state.lock();
        Usage {
            queries: state.may_block.len(),
            held: state.allocator.holding(),
            slots: self.slots(&state),
            connections: self.client.most_connections(),
        }
    }

    /// Waits for the permit of a requested read, which goes before the members that are due by themselves. Cancel safe.
    pub(super) async fn read_permit(&self, id: MemberId) -> ReadPermit {
        self.readers.permit(0, self.rank(id), id).await
    }

    pub(super) fn rank(&self, id: MemberId) -> Rank {
        self.state.lock().allocator.rank(id)
    }
}

impl State {
    fn set_may_block(&self, id: MemberId, may_block: bool) {
        if let Some(sender) = self.may_block.get(&id) {
            sender.send_replace(may_block);
        }
    }
}
