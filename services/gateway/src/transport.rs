//! HTTP: connections and their limits, TLS, and headers.

pub(crate) mod activity;
pub(crate) mod browsers;
pub(crate) mod clients;
pub(crate) mod connection;
pub(crate) mod etag;
pub(crate) mod headers;
pub(crate) mod http_validation;
pub(crate) mod paced_body;
pub(crate) mod pending_parts;
pub(crate) mod rejection;
pub(crate) mod request_log;
pub(crate) mod slow_client;
pub(crate) mod timed_stream;
pub(crate) mod tls_acceptor;
