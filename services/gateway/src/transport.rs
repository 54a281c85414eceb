//! HTTP: listening, connections and their limits, TLS, and how bodies and headers are written.

pub(crate) mod activity;
pub(crate) mod body;
pub(crate) mod clients;
pub(crate) mod connection;
pub(crate) mod etag;
pub(crate) mod headers;
pub(crate) mod http_validation;
pub(crate) mod json;
pub(crate) mod offers;
pub(crate) mod paced_body;
pub(crate) mod patience;
pub(crate) mod refusal;
pub(crate) mod request_log;
pub(crate) mod server;
pub(crate) mod streams;
pub(crate) mod timed_stream;
pub(crate) mod tls_acceptor;
