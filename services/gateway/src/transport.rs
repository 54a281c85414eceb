//! HTTP: listening, connections and their limits, TLS, and how bodies and headers are written.

pub(crate) mod activity;
pub(crate) mod body;
pub(crate) mod browsers;
pub(crate) mod clients;
pub(crate) mod connection;
pub(crate) mod etag;
pub(crate) mod headers;
pub(crate) mod http_validation;
pub(crate) mod json;
pub(crate) mod paced_body;
pub(crate) mod pending_parts;
pub(crate) mod rejection;
pub(crate) mod request_log;
pub(crate) mod server;
pub(crate) mod slow_client;
pub(crate) mod streams;
pub(crate) mod timed_stream;
pub(crate) mod tls_acceptor;
