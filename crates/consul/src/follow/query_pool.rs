//! Following any number of queries over a bounded number of connections.
//!
//! Over HTTP/2 every query is held open: many share a connection. Over HTTP/1.1 a query that Consul holds takes a
//! connection of its own. If the queries outnumber the connections, the queries that change most often are held. The
//! other queries are read again when one of a few cheap queries reports a change of their kind.
//!
//! Consul accepts 200 connections of a client. The budget over HTTP/1.1 is `max_conns_per_host`, 100 connections by
//! default:
//!
//! | connections of 100 | for |
//! | --- | --- |
//! | 12 | reading again (`readers`) |
//! | 12 | unused in between, by the HTTP library |
//! | 3 for each datacenter and namespace, 1 for its keys | noticing that something has changed (`change_scope`) |
//! | 4 | everything else |
//! | the rest, at least 68 | held queries, of the views that change most often (`slot_allocator`) |
//!
//! Catalog queries are always held; each datacenter, namespace and node meta data has one. While other queries have
//! no slot, Consul holds a query for 20 s at most: a query gives up its slot only between two requests.
//!
//! Consul does not report what changed, so every query that is not held is read again. An answer with the index of
//! the last one is not decoded.

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
use crate::follow::followed_query::FollowedQuery;
use crate::follow::poll::follow;
use crate::follow::poll_event::PollEvent;
use crate::follow::read_requests::ReadRequests;
use crate::query::Query;

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

    /// Follows a query for ever, and reads it on request. `on_event` is called between two requests and should be
    /// quick. Dropping the future ends everything, the requests under way included.
    pub async fn follow(
        &self,
        query: &Query,
        requests: &ReadRequests,
        on_event: impl FnMut(PollEvent),
    ) -> Infallible {
        let mut slot = SharedSlot::join(&self.0, query);
        let id = slot.id();
        let followed = FollowedQuery::new(requests.clone(), on_event);
        tokio::select! {
            biased;
            never = follow(&self.0.client, query, &mut slot, &followed) => never,
            never = read_on_request(&self.0, id, query, &followed) => never,
        }
    }
}
