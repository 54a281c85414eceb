//! Following any number of queries over a bounded number of connections (ARCHITECTURE.md#watching-thousands-of-services).
//!
//! Over HTTP/2 every query is held open: many share a connection. Over HTTP/1.1 a query that Consul holds takes
//! a connection of its own. If the queries outnumber the connections, the queries that change most often are
//! held. The others are read again when one of a few cheap queries reports a change of their kind.

mod change_scope;
mod members;
pub(crate) mod readers;
mod requested_reads;
mod shared_slot;
mod slot_allocator;

use std::convert::Infallible;
use std::sync::Arc;

use self::members::Members;
pub use self::members::Usage;
use self::requested_reads::read_on_request;
use self::shared_slot::SharedSlot;
use crate::client::ConsulClient;
use crate::known::Known;
use crate::poll::{PollEvent, follow};
use crate::query::Query;
use crate::read_requests::ReadRequests;

/// Follows queries. Cheap to clone; all clones share their connections.
#[derive(Debug, Clone)]
pub struct QueryPool(Arc<Members>);

impl QueryPool {
    /// Follows queries through `client`, over as many connections as its settings allow.
    pub fn new(client: ConsulClient) -> Self {
        Self(Arc::new(Members::new(client)))
    }

    /// The queries at this moment, and the room that they have.
    pub fn usage(&self) -> Usage {
        self.0.usage()
    }

    /// Follows a query for ever, and reads it as it is requested. `on_event` is called between two requests and should
    /// be quick. Dropping the future ends everything, the requests under way included.
    pub async fn follow(
        &self,
        query: &Query,
        requests: &ReadRequests,
        on_event: impl FnMut(PollEvent),
    ) -> Infallible {
        let mut slot = SharedSlot::join(&self.0, query);
        let id = slot.id();
        let known = Known::new(requests.clone(), on_event);
        tokio::select! {
            biased;
            never = follow(&self.0.client, query, &mut slot, &known) => never,
            never = read_on_request(&self.0, id, query, &known) => never,
        }
    }
}
