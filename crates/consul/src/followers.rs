//! Following any number of queries over a bounded number of connections (ARCHITECTURE.md#watching-thousands-of-services).
//!
//! Over HTTP/2 every query is held open: many share a connection. Over HTTP/1.1 a query that Consul holds takes
//! a connection of its own. If the queries outnumber the connections, the queries that change most often are
//! held. The others are read again when one of a few cheap queries reports a change of their kind.

mod arbiter;
mod place;
mod readers;
mod seat;

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use self::arbiter::{MemberId, Renewal, SlotAllocator};
use self::place::{ChangeProbes, Place, PlaceKey};
use self::readers::Readers;
use crate::client::{ConsulClient, HOLD};
use crate::lanes::STREAMS;
use crate::poll::{PollEvent, follow};
use crate::query::Query;

pub(crate) use self::seat::{QuerySlot, Standing};

/// Connections for reading, at most.
const MOST_READERS: usize = 16;
/// Part of the connections that is for reading, and as many may be unused in between.
const SHARE_OF_READERS: usize = 8;
/// Connections for everything else that is asked of Consul.
const SPARE: usize = 4;
/// Connections for learning of changes in one datacenter and namespace: services and keys.
const WAKEUPS: usize = 4;
/// How long Consul holds a query while other queries have no slot. Each end of a wait is a chance for them.
const SHORT_HOLD: Duration = Duration::from_secs(20);

/// Connections for reading, of so many.
pub(crate) fn readers_of(connections: usize) -> usize {
    (connections / SHARE_OF_READERS).clamp(1, MOST_READERS)
}

/// Follows queries. Cheap to clone; all clones share their connections.
#[derive(Debug, Clone)]
pub struct Followers(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    client: ConsulClient,
    /// Connections for requests at the same time; the HTTP library may keep some more that are unused.
    connections: usize,
    readers_count: usize,
    readers: Readers,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    arbiter: SlotAllocator,
    last_id: MemberId,
    is_known_to_be_many: bool,
    /// Says whether a member may hold its query open.
    holds: HashMap<MemberId, watch::Sender<bool>>,
    places: HashMap<PlaceKey, PlaceMembers>,
}

/// A place while somebody follows something there.
#[derive(Debug)]
struct PlaceMembers {
    place: Arc<Place>,
    count: usize,
    /// Present while some members have no slot.
    wakeups: Option<ChangeProbes>,
}

impl Followers {
    /// Follows queries through `client`, over as many connections as its settings allow.
    pub fn new(client: ConsulClient) -> Self {
        let all = client.most_connections();
        let readers_count = readers_of(all);
        let connections = all.saturating_sub(readers_count + SPARE).max(1);
        Self(Arc::new(Shared {
            client,
            connections,
            readers_count,
            readers: Readers::new(readers_count),
            started: Instant::now(),
            state: Mutex::new(State {
                arbiter: SlotAllocator::new(0),
                last_id: 0,
                is_known_to_be_many: false,
                holds: HashMap::new(),
                places: HashMap::new(),
            }),
        }))
    }

    /// Follows a query for ever. `on_event` is called between two requests and should be quick. Dropping
    /// the future ends everything, the request under way included.
    pub async fn follow(
        &self,
        query: &Query,
        on_event: impl FnMut(PollEvent),
    ) -> std::convert::Infallible {
        let seat = self.join(query);
        follow(&self.0.client, query, seat, on_event).await
    }

    fn join(&self, query: &Query) -> QuerySlot {
        let key = PlaceKey::of(query);
        let (sender, holds) = watch::channel(key.is_none());
        let mut state = self.0.state.lock();
        state.last_id += 1;
        let id = state.last_id;
        state.arbiter.join(id, key.is_none());
        state.holds.insert(id, sender);
        let place = key.as_ref().map(|key| {
            let members = state
                .places
                .entry(key.clone())
                .or_insert_with(|| PlaceMembers {
                    place: Arc::default(),
                    count: 0,
                    wakeups: None,
                });
            members.count += 1;
            Arc::clone(&members.place)
        });
        self.settle(&mut state);
        drop(state);
        QuerySlot::shared(self.clone(), id, key, place, holds)
    }

    fn leave(&self, id: MemberId, key: Option<&PlaceKey>) {
        let mut state = self.0.state.lock();
        state.arbiter.leave(id);
        state.holds.remove(&id);
        if let Some(key) = key
            && let Some(members) = state.places.get_mut(key)
        {
            members.count -= 1;
            if members.count == 0 {
                state.places.remove(key);
            }
        }
        self.settle(&mut state);
    }

    fn changed(&self, id: MemberId) {
        let now = self.0.started.elapsed();
        self.0.state.lock().arbiter.changed(id, now);
    }

    /// Whether a holder may go on with another request, and how long Consul may hold it.
    fn renew(&self, id: MemberId) -> Option<Duration> {
        let mut state = self.0.state.lock();
        if let Renewal::MakesRoom(other) = state.arbiter.renew(id) {
            state.say(id, false);
            if let Some(other) = other {
                state.say(other, true);
            }
            return None;
        }
        Some(if state.arbiter.has_others() {
            SHORT_HOLD
        } else {
            HOLD
        })
    }

    /// The connections turn out to carry many requests each.
    fn learn(&self) {
        self.settle(&mut self.0.state.lock());
    }

    /// Gives free slots to members without one, and watches for changes on behalf of the other members.
    fn settle(&self, state: &mut State) {
        for id in state.arbiter.settle(self.slots(state)) {
            state.say(id, true);
        }
        let is_needed = state.arbiter.has_others();
        if is_needed && !std::mem::replace(&mut state.is_known_to_be_many, true) {
            tracing::info!(
                connections = self.0.client.most_connections(),
                "there are more views than connections to consul: those that change most often are waited on, the others are read when something has changed"
            );
        }
        for (key, members) in &mut state.places {
            match &members.wakeups {
                None if is_needed => {
                    let place = Arc::clone(&members.place);
                    let wakeups = ChangeProbes::start(self.0.client.clone(), key, place);
                    members.wakeups = Some(wakeups);
                }
                Some(_) if !is_needed => members.wakeups = None,
                _ => {}
            }
        }
    }

    /// Room for what the others need is always kept: nothing that Consul holds can be taken back soon.
    fn slots(&self, state: &State) -> usize {
        if self.0.client.is_multiplexed() {
            return self.0.connections * STREAMS;
        }
        let wakeups: usize = state.places.keys().map(PlaceKey::wakeups).sum();
        let others = self.0.readers_count + wakeups.max(WAKEUPS);
        self.0.connections.saturating_sub(others)
    }

    fn rank(&self, id: MemberId) -> arbiter::Rank {
        self.0.state.lock().arbiter.rank(id)
    }
}

impl State {
    fn say(&self, id: MemberId, holds: bool) {
        if let Some(sender) = self.holds.get(&id) {
            sender.send_replace(holds);
        }
    }
}
