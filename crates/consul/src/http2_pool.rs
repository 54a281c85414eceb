//! Connections of a client.
//!
//! The HTTP library opens one HTTP/2 connection to a host, and requests beyond the streams that the server allows on
//! this connection wait. Therefore the client has several HTTP clients, each with its own connection, as soon as the
//! server is known to use HTTP/2.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use reqwest::{Client, Response, Version};

use crate::settings::ConsulSettings;
use crate::transport;

/// Most requests on one HTTP/2 connection. Consul allows 250.
pub(crate) const STREAMS: usize = 200;

/// All connections of a client, shared by its clones.
#[derive(Debug, Clone)]
pub(crate) struct Http2Pool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    settings: ConsulSettings,
    is_multiplexed: AtomicBool,
    /// Connection for requests before the protocol is known, and over HTTP/1.1.
    first: Arc<Connection>,
    connections: Mutex<Vec<Arc<Connection>>>,
}

/// One connection over HTTP/2; any number in the first.
#[derive(Debug)]
struct Connection {
    client: Client,
    requests: AtomicUsize,
}

/// A request's right to a connection; held until its answer has been read.
#[derive(Debug)]
pub(crate) struct Http2Permit(Arc<Connection>);

impl Http2Pool {
    pub(crate) fn new(settings: &ConsulSettings, first: Client) -> Self {
        Self(Arc::new(Shared {
            settings: settings.clone(),
            is_multiplexed: AtomicBool::new(false),
            first: Connection::new(first),
            connections: Mutex::default(),
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

    /// Returns a client with room for one more request, and opens a connection if necessary.
    pub(crate) fn permit(&self) -> Http2Permit {
        if !self.is_multiplexed() {
            return Http2Permit::of(&self.0.first);
        }
        let mut connections = self.0.connections.lock();
        let requests = |connection: &&Arc<Connection>| connection.requests.load(Ordering::Relaxed);
        if let Some(connection) = connections
            .iter()
            .find(|connection| requests(connection) < STREAMS)
        {
            return Http2Permit::of(connection);
        }
        if connections.len() < self.most()
            // The settings were valid for the first client; their files may have been removed since.
            && let Ok(client) = transport::connect_http2(&self.0.settings)
        {
            let connection = Connection::new(client);
            connections.push(Arc::clone(&connection));
            return Http2Permit::of(&connection);
        }
        Http2Permit::of(
            connections
                .iter()
                .min_by_key(requests)
                .unwrap_or(&self.0.first),
        )
    }
}

impl Connection {
    fn new(client: Client) -> Arc<Self> {
        Arc::new(Self {
            client,
            requests: AtomicUsize::new(0),
        })
    }
}

impl Http2Permit {
    fn of(connection: &Arc<Connection>) -> Self {
        connection.requests.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(connection))
    }

    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }
}

impl Drop for Http2Permit {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}
