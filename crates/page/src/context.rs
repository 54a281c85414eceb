//! Data of one request of the page: its caller, the time, and answers of REST.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use cts_core::RequestKey;
use http::StatusCode;
use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;

use crate::address::Query;
use crate::api::{Api, ApiAnswer, ApiCall};
use crate::form::KEY;
use crate::site::Site;
use crate::viewer::Viewer;

/// A call that was refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// A sentence for the reader, in the words of REST.
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            message: message.into(),
        }
    }
}

/// A form that was sent and refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// Path of its action below the prefix.
    pub(crate) path: String,
    /// Its fields.
    pub(crate) values: Query,
    pub(crate) refusal: Refusal,
}

type Kept = Arc<OnceCell<Result<Bytes, Refusal>>>;

/// One request of the page.
pub(crate) struct Context<'a> {
    pub(crate) site: &'a Site,
    pub(crate) viewer: &'a Viewer,
    /// The time of the gateway.
    pub(crate) now: DateTime<Utc>,
    /// The form that this page answers, if it failed.
    pub(crate) attempt: Option<Attempt>,
    api: &'a dyn Api,
    /// Answers by path: fragments of one request share them.
    kept: Mutex<BTreeMap<String, Kept>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        site: &'a Site,
        viewer: &'a Viewer,
        api: &'a dyn Api,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            site,
            viewer,
            now,
            attempt: None,
            api,
            kept: Mutex::default(),
        }
    }

    /// The same request after a form was refused, with new answers of REST.
    pub(crate) fn after(self, attempt: Attempt) -> Self {
        Self {
            attempt: Some(attempt),
            kept: Mutex::default(),
            ..self
        }
    }

    /// The key of the form that was sent to this path, if its request may have been made all the same; empty otherwise.
    pub(crate) fn open_key(&self, path: &str) -> String {
        let sent = self.attempt.as_ref().filter(|sent| {
            sent.path == path && sent.refusal.status == StatusCode::SERVICE_UNAVAILABLE
        });
        let key = sent.and_then(|sent| sent.values.get(KEY).parse::<RequestKey>().ok());
        key.map(|key| key.to_string()).unwrap_or_default()
    }

    /// The answer of `GET path`; each path is called once per request of the page.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Refusal> {
        read(&self.bytes(path).await?)
    }

    /// The body of the answer of `GET path`.
    pub(crate) async fn bytes(&self, path: &str) -> Result<Bytes, Refusal> {
        let kept = Arc::clone(self.kept.lock().entry(path.to_owned()).or_default());
        let calling = kept.get_or_init(|| async {
            let answer = self.api.call(ApiCall::get(path)).await;
            succeeded(answer)
        });
        calling.await.clone()
    }

    /// Makes a call whose answer is not kept, such as a change.
    pub(crate) async fn call(&self, call: ApiCall) -> ApiAnswer {
        self.api.call(call).await
    }

    /// An address of the page: `path` without a slash at its beginning.
    pub(crate) fn link(&self, path: &str) -> String {
        format!("{}{path}", self.site.prefix)
    }
}

/// Reads an answer of REST.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal {
        status: StatusCode::BAD_GATEWAY,
        message: format!("the answer of the API cannot be read: {error}"),
    })
}

#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorText,
}

/// The two families of endpoints name an error in two ways (docs/rest.md#error-bodies).
#[derive(Deserialize)]
#[serde(untagged)]
enum ErrorText {
    Object { message: String },
    Text(String),
}

/// The body of an answer, or why the call was refused or failed.
pub(crate) fn succeeded(answer: ApiAnswer) -> Result<Bytes, Refusal> {
    if answer.status.is_success() {
        return Ok(answer.body);
    }
    let message = match serde_json::from_slice(&answer.body) {
        Ok(ErrorBody {
            error: ErrorText::Object { message } | ErrorText::Text(message),
        }) => message,
        Err(_another_body) => format!("the API answered {}", answer.status),
    };
    Err(Refusal {
        status: answer.status,
        message,
    })
}
