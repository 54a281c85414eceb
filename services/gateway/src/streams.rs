//! Answers that go on: events of runs, versions of answers, and logs of runs that are followed. They end with their
//! source, with the client, with its credential or with the gateway. A log that ends with the gateway is broken off, so
//! that a part of it does not look complete. Events and versions just end.
//!
//! A client that has gone cannot be distinguished from a client that has closed its half of the connection. Such a
//! follower gets the lines that exist by then, and no more.
//!
//! No client blocks the connection to the scheduler: events and versions are taken as they come (`run_events.rs`,
//! `follow.rs`), logs in parts, each part after the part before was taken.

pub(crate) mod events;
pub(crate) mod follow;
pub(crate) mod log;

use std::convert::Infallible;
use std::future::{pending, ready};
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};

use cts_listen::ClientPermit;
use futures::stream::once;
use futures::{Stream, StreamExt as _};

use crate::authorization::credential::Credential;
use crate::transport::activity::{Answering, Endless};
use crate::transport::connection::Connection;

/// A header by which nginx and other proxies pass a part on at once.
const UNBUFFERED: (&str, &str) = ("x-accel-buffering", "no");

/// Interval of signs of life in server-sent events: proxies between gateway and client may close a silent connection.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// How long a client whose server-sent events have ended waits before it connects again.
const COME_BACK_AFTER: Duration = Duration::from_secs(1);

/// An answer on its way to a client.
pub(crate) struct Answer {
    connection: Connection,
    /// Keeps the connection open while the answer is silent.
    _answering: Answering,
    /// Present while the answer has no end of its own. An answer with an end is a request in progress, which
    /// the gateway lets finish.
    endless: Option<Endless>,
    credential: Credential,
    _permit: ClientPermit,
}

impl Answer {
    /// An answer with a defined end, on a connection.
    pub(crate) fn new(
        connection: &Connection,
        permit: ClientPermit,
        credential: Credential,
    ) -> Self {
        Self {
            _answering: connection.activity.answering(),
            endless: None,
            connection: connection.clone(),
            credential,
            _permit: permit,
        }
    }

    /// Marks the answer as an answer without a defined end.
    fn endless(mut self) -> Self {
        self.endless = Some(self.connection.activity.endless());
        self
    }

    /// Returns when an answer without an end must end before its source.
    async fn stops(&mut self) -> Stop {
        let Some(endless) = &self.endless else {
            return pending().await;
        };
        tokio::select! {
            biased;
            () = self.connection.closing.cancelled() => Stop::Here,
            () = self.credential.lapses() => Stop::Here,
            () = endless.peer_closed() => Stop::ByClient,
        }
    }
}

/// Why an answer without an end ends.
#[derive(Debug, Clone, Copy)]
enum Stop {
    /// The gateway ends, or the credential of the client.
    Here,
    /// The client sends no more: it has gone, or has closed its half of the connection.
    ByClient,
}

/// Server-sent events, after a comment that names them.
fn server_sent(what: &'static str, events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let beginning = Event::default().comment(what).retry(COME_BACK_AFTER);
    let events = once(ready(beginning)).chain(events);
    let keep_alive = KeepAlive::new().interval(SIGN_OF_LIFE);
    let events = Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(keep_alive);
    ([UNBUFFERED], events).into_response()
}

/// Yields once: hyper writes its data while a body waits, and drops that data when the body fails.
async fn let_hyper_write() {
    tokio::task::yield_now().await;
}
