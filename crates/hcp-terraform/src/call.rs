//! Requests as errors show them.

use std::fmt;

use reqwest::{Method, Url};

/// Method, host and path of a request, without its query. A signed URL shows its host only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The HTTP method.
    pub method: Method,
    /// Host, with its port if the URL has one.
    pub host: String,
    /// Path of the URL; `(signed URL)` in place of a signed one.
    pub path: String,
}

impl Call {
    pub(crate) fn new(method: &Method, url: &Url) -> Self {
        Self {
            path: url.path().to_owned(),
            ..Self::signed(method, url)
        }
    }

    pub(crate) fn signed(method: &Method, url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        Self {
            method: method.clone(),
            host: match url.port() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            },
            path: "(signed URL)".to_owned(),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, host, path } = self;
        write!(f, "{method} {path} at {host}")
    }
}
