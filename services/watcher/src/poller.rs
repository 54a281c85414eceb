//! Keeps the state of a view up to date.

use std::convert::Infallible;
use std::sync::Arc;

use cts_consul::{PollEvent, Query, ReadRequests};
use cts_core::{View, ViewId};
use tokio::time::Instant;

use crate::publisher::Publisher;
use crate::state::StateSender;
use crate::views::{Source, Views};
use crate::{matching_names, matching_services};

impl Views {
    /// Keeps the state of a view up to date until it is dropped.
    pub(crate) async fn work(self, source: Source, requests: ReadRequests, state: StateSender) {
        match source {
            Source::View(View::Services(view)) => {
                // Boxed, so that views of other kinds do not contain this future.
                Box::pin(matching_services::combine(&self, view, &requests, state)).await;
            }
            Source::View(View::CatalogServices(view)) if !view.regexp.is_empty() => {
                Box::pin(matching_names::choose(&self, view, &requests, state)).await;
            }
            Source::View(view) => {
                let publisher = self.publisher(view.id(), state).expecting(view.item_kind());
                let query = match view {
                    View::Service(view) => Query::health(view),
                    View::CatalogServices(view) => Query::catalog(&view),
                    View::ConsulKv(query) => Query::Kv(query),
                    View::Services(_combined) => return,
                };
                match self.poll(&query, &requests, publisher).await {}
            }
            Source::Member(view) => {
                let publisher = self.publisher(view.id(), state);
                let query = Query::Health {
                    view,
                    passing: true,
                };
                match self.poll(&query, &requests, publisher).await {}
            }
        }
    }

    fn publisher(&self, id: ViewId, state: StateSender) -> Publisher {
        let outage = Arc::clone(&self.0.outage);
        Publisher::new(id, state, outage).holding_filtered(self.0.options.hold_filtered)
    }

    /// Follows the query for ever.
    fn poll(
        &self,
        query: &Query,
        requests: &ReadRequests,
        publisher: Publisher,
    ) -> impl Future<Output = Infallible> {
        // Boxed: each future on the way to the query holds what it is given and what it passes on.
        let mut publisher = Box::new(publisher);
        let publish = move |event: PollEvent| {
            self.0.metrics.polled(&event);
            publisher.publish(event, Instant::now());
        };
        self.0.pool.follow(query, requests, publish)
    }
}
