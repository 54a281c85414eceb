//! Connections of a client.
//!
//! The HTTP library opens one HTTP/2 connection to a host, and requests beyond the streams that the server
//! allows on it wait. So the client has several HTTP clients, each with its own connection, as soon as it is
//! known that the server speaks HTTP/2.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use reqwest::{Client, Response, Version};

use crate::settings::ConsulSettings;
use crate::transport;

/// Requests on one HTTP/2 connection at most. Consul allows 250.
pub(crate) const STREAMS: usize = 200;

/// All connections of a client; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Http2Pool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    settings: ConsulSettings,
    is_multiplexed: AtomicBool,
    /// Connection for requests before the protocol is known, and over HTTP/1.1.
    first: Arc<Lane>,
    lanes: Mutex<Vec<Arc<Lane>>>,
}

/// One connection over HTTP/2; any number in the first.
#[derive(Debug)]
struct Lane {
    client: Client,
    requests: AtomicUsize,
}

/// A request's place on a connection; held until its answer has been read.
#[derive(Debug)]
pub(crate) struct Ticket(Arc<Lane>);

impl Http2Pool {
    pub(crate) fn new(settings: &ConsulSettings, first: Client) -> Self {
        Self(Arc::new(Shared {
            settings: settings.clone(),
            is_multiplexed: AtomicBool::new(false),
            first: Lane::new(first),
            lanes: Mutex::default(),
        }))
    }

    pub(crate) fn most(&self) -> usize {
        self.0.settings.max_per_host
    }

    /// Whether requests share connections.
    pub(crate) fn is_multiplexed(&self) -> bool {
        self.0.is_multiplexed.load(Ordering::Relaxed)
    }

    /// Learns from an answer what is spoken.
    pub(crate) fn note(&self, answer: &Response) {
        if answer.version() == Version::HTTP_2 {
            self.0.is_multiplexed.store(true, Ordering::Relaxed);
        }
    }

    /// A client with room for one more request, which may be one that was opened for it.
    pub(crate) fn ticket(&self) -> Ticket {
        if !self.is_multiplexed() {
            return Ticket::of(&self.0.first);
        }
        let mut lanes = self.0.lanes.lock();
        let requests = |lane: &&Arc<Lane>| lane.requests.load(Ordering::Relaxed);
        if let Some(lane) = lanes.iter().find(|lane| requests(lane) < STREAMS) {
            return Ticket::of(lane);
        }
        if lanes.len() < self.most()
            // The settings were good enough for the first one; its files may have gone since.
            && let Ok(client) = transport::connect_http2(&self.0.settings)
        {
            let lane = Lane::new(client);
            lanes.push(Arc::clone(&lane));
            return Ticket::of(&lane);
        }
        Ticket::of(lanes.iter().min_by_key(requests).unwrap_or(&self.0.first))
    }
}

impl Lane {
    fn new(client: Client) -> Arc<Self> {
        Arc::new(Self {
            client,
            requests: AtomicUsize::new(0),
        })
    }
}

impl Ticket {
    fn of(lane: &Arc<Lane>) -> Self {
        lane.requests.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(lane))
    }

    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}
