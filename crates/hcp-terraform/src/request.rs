//! A request, before it is sent.

use std::time::Duration;

use bytes::Bytes;
use reqwest::{Method, Url};
use serde_json::Value;

use crate::call::Call;

/// Most bytes of an answer of the API.
const LONGEST_JSON: usize = 10 << 20;

/// Credentials of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// The token, to the API only; needs a permit of the budget.
    Token,
    /// Nothing.
    Open,
    /// A signed URL.
    Signed,
}

/// Whether a request may be carried out twice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// A second time changes nothing more.
    Safe,
    /// A second time makes a second object, or fails where the first one worked.
    Never,
}

/// The body of a request.
#[derive(Clone)]
pub(crate) enum Content {
    None,
    /// A JSON:API document.
    Json(Bytes),
    /// A gzip archive.
    Archive(Bytes),
}

/// A request. Without `Debug`, because the body and a signed URL are secret.
pub(crate) struct Request {
    pub(crate) call: Call,
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) access: Access,
    pub(crate) content: Content,
    pub(crate) repeat: Repeat,
    pub(crate) longest: usize,
    pub(crate) timeout: Duration,
}

impl Request {
    /// A request without a body, for an answer of the API. A POST is one that is never repeated.
    pub(crate) fn new(method: Method, url: Url, access: Access, timeout: Duration) -> Self {
        let call = match access {
            Access::Signed => Call::signed(&method, &url),
            Access::Token | Access::Open => Call::new(&method, &url),
        };
        Self {
            call,
            repeat: match method {
                Method::POST => Repeat::Never,
                _ => Repeat::Safe,
            },
            method,
            url,
            access,
            content: Content::None,
            longest: LONGEST_JSON,
            timeout,
        }
    }

    /// The request with a JSON body.
    pub(crate) fn with(mut self, body: &Value) -> Self {
        self.content = Content::Json(Bytes::from(body.to_string()));
        self
    }

    /// The request as one that may be carried out twice.
    pub(crate) fn repeatable(mut self) -> Self {
        self.repeat = Repeat::Safe;
        self
    }
}
