//! The calls of REST that the page makes.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, StatusCode};

/// The REST API with the rights of the caller of the page, without a connection in between.
#[async_trait]
pub trait Api: Send + Sync {
    /// Answers a call as it answers a request of this caller (docs/api.md). Dropping the future drops the call.
    async fn call(&self, call: ApiCall) -> ApiAnswer;
}

/// A call of REST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiCall {
    pub method: Method,
    /// Path and query, such as `/v1/runs?limit=20`, with escapes where needed.
    pub path: String,
    /// A JSON document.
    pub body: Option<String>,
}

impl ApiCall {
    /// A call that reads.
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            body: None,
        }
    }
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiAnswer {
    pub status: StatusCode,
    /// A JSON document, or the lines of a log.
    pub body: Bytes,
}
