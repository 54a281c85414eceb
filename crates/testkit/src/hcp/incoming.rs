//! A request whose body was read.

use axum::body::Bytes;
use axum::extract::Query;
use axum::http::header::AUTHORIZATION;
use serde_json::Value;

/// A request whose body is there.
pub(super) struct Incoming {
    pub(super) parts: axum::http::request::Parts,
    pub(super) content: Bytes,
    pub(super) body: Value,
    /// The path below the base path, if it is one of the API.
    pub(super) below: Option<String>,
}

impl Incoming {
    pub(super) fn bearer(&self) -> Option<&str> {
        let header = self.parts.headers.get(AUTHORIZATION)?;
        header.to_str().ok()?.strip_prefix("Bearer ")
    }

    pub(super) fn query(&self) -> Vec<(String, String)> {
        let query = Query::try_from_uri(&self.parts.uri);
        query.map(|Query(pairs)| pairs).unwrap_or_default()
    }

    pub(super) fn path(&self) -> &str {
        self.below
            .as_deref()
            .unwrap_or_else(|| self.parts.uri.path())
    }
}
