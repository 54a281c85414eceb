//! One request and its answer.

use reqwest::header::{CONTENT_TYPE, IF_MATCH, LOCATION};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;

use crate::address::{Address, without_password};
use crate::client::{ApiClient, usable};
use crate::error::{CallError, ErrorResponse, beginning};
use crate::model::{CodedError, ErrorAnswer};

/// Number of characters shown of an answer that does not come from the API.
const BEGINNING_SHOWN: usize = 60;

/// Longest body of an answer, unpacked.
const LARGEST_ANSWER: usize = 256 << 20;

const JSON: &str = "application/json";

/// A body to send.
#[derive(Debug)]
pub(crate) enum Body {
    None,
    /// With a content type.
    Json(String),
    /// JSON that applies to any revision of the task.
    JsonOfAnyRevision(String),
    /// Without one, as the original sends updates.
    Bare(String),
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    location: Option<String>,
    body: String,
    address: String,
}

impl ApiClient {
    pub(crate) async fn get<T: DeserializeOwned>(&self, url: Url) -> Result<T, CallError> {
        self.send(Method::GET, url, Body::None).await?.decode()
    }

    /// The beginning of the answer to a `GET` of these segments below `/v1`, at most `limit` bytes of text, and whether the
    /// answer is longer. The rest of a longer answer is not read.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn read(
        &self,
        path: &[&str],
        query: &[(&str, String)],
        limit: usize,
    ) -> Result<(String, bool), CallError> {
        let path: Result<Vec<_>, _> = path.iter().copied().map(usable).collect();
        let mut url = self.address.endpoint(&path?);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut response = open(self, url).await?;
        let failed = |source| transport_failed(&self.address(), self.address.is_secure(), source);
        let mut body = Vec::new();
        while body.len() <= limit
            && let Some(part) = response.chunk().await.map_err(failed)?
        {
            body.extend_from_slice(&part);
        }
        let mut text = String::from_utf8_lossy(&body).into_owned();
        let end = text.floor_char_boundary(limit);
        let is_longer = end < text.len();
        text.truncate(end);
        Ok((text, is_longer))
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        url: Url,
        body: Body,
    ) -> Result<Answer, CallError> {
        send(self, method, url, body).await
    }
}

async fn send(api: &ApiClient, method: Method, url: Url, body: Body) -> Result<Answer, CallError> {
    let mut request = api.request(method, url);
    request = match body {
        Body::None => request,
        Body::Json(text) => request.header(CONTENT_TYPE, JSON).body(text),
        Body::JsonOfAnyRevision(text) => request
            .header(CONTENT_TYPE, JSON)
            .header(IF_MATCH, "*")
            .body(text),
        Body::Bare(text) => request.body(text),
    };
    whole(response(api, request).await?, &api.address).await
}

/// A successful answer whose body comes bit by bit.
pub(crate) async fn open(api: &ApiClient, url: Url) -> Result<Response, CallError> {
    let response = response(api, api.request(Method::GET, url)).await?;
    if response.status().is_success() {
        return Ok(response);
    }
    Err(match whole(response, &api.address).await?.successful() {
        Err(error) => error,
        Ok(_success) => CallError::Lacking {
            address: api.address(),
            what: "the log",
        },
    })
}

/// The beginning of an answer. If the connection ended before it, the server may give the reason.
async fn response(api: &ApiClient, request: RequestBuilder) -> Result<Response, CallError> {
    let source = match request.send().await {
        Ok(response) => return Ok(response),
        Err(source) => source,
    };
    let mut error = transport_failed(&api.address(), api.address.is_secure(), source);
    if error.is_unexplained_end()
        && let CallError::Transport { alert, .. } = &mut error
    {
        *alert = Box::pin(crate::alert::alert(&api.address, &api.tls)).await;
    }
    Err(error)
}

/// No answer came, or not all of it.
pub(crate) fn transport_failed(address: &str, secure: bool, source: reqwest::Error) -> CallError {
    CallError::Transport {
        address: address.to_owned(),
        secure,
        alert: None,
        // The address is shown already, and the URL may hold a password.
        source: source.without_url(),
    }
}

async fn whole(mut response: Response, address: &Address) -> Result<Answer, CallError> {
    let failed = |source| transport_failed(&address.to_string(), address.is_secure(), source);
    let status = response.status();
    let location = response.headers().get(LOCATION);
    let location = location.map(|to| String::from_utf8_lossy(to.as_bytes()).into_owned());
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(failed)? {
        if body.len() + part.len() > LARGEST_ANSWER {
            return Err(CallError::TooLarge {
                address: address.to_string(),
                limit: LARGEST_ANSWER >> 20,
            });
        }
        body.extend_from_slice(&part);
    }
    Ok(Answer {
        status,
        location,
        body: String::from_utf8_lossy(&body).into_owned(),
        address: address.to_string(),
    })
}

impl Answer {
    /// The value in a successful answer.
    pub(crate) fn decode<T: DeserializeOwned>(self) -> Result<T, CallError> {
        let success = self.successful()?;
        serde_json::from_str(&success.body).map_err(|source| CallError::Decode {
            beginning: beginning(success.body.trim(), BEGINNING_SHOWN),
            address: success.address,
            source,
        })
    }

    fn successful(self) -> Result<Self, CallError> {
        if self.status.is_success() {
            return Ok(self);
        }
        match self.location {
            Some(location) if self.status.is_redirection() => Err(CallError::Redirected {
                address: self.address,
                location: without_password(&location),
                status: self.status.as_u16(),
            }),
            _ => Err(CallError::Refused(self.refusal())),
        }
    }

    /// Takes the answer as a refusal.
    ///
    /// Ignores the content type: the original sends some of its errors with a wrong one, and proxies send
    /// theirs so (docs/compatibility.md#api).
    fn refusal(self) -> ErrorResponse {
        let (message, code, request_id) = match serde_json::from_str::<ErrorAnswer>(&self.body) {
            Ok(answer) => {
                let CodedError { message, code } = answer.error;
                (Some(message), code, answer.request_id)
            }
            Err(_no_error_of_the_api) => (None, None, None),
        };
        ErrorResponse {
            status: self.status.as_u16(),
            reason: self.status.canonical_reason().unwrap_or_default(),
            message,
            code,
            request_id,
            body: self.body,
        }
    }
}
