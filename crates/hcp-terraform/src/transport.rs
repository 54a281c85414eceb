//! One request over HTTP, with its redirections, and the whole answer.
//!
//! Redirections are followed here and not by the HTTP library, because their rules depend on the request.

use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Client, Method, Response, StatusCode, Url, redirect};

use cts_http::with_server_name;

use crate::error::SettingsError;
use crate::problem::ProtocolProblem;
use crate::redirection::{is_redirection, redirected, same_origin};
use crate::request::{Access, Content, Request};
use crate::settings::ServerSettings;

/// Most redirections of one request.
const MOST_REDIRECTS: usize = 5;

/// Most bytes that are read of an answer that is a refusal.
const LONGEST_REFUSAL: usize = 64 << 10;

const JSON_API: &str = "application/vnd.api+json";

/// Connections to a server and to the hosts that it refers to.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    /// For the host of the settings, which may have another name in its certificate.
    own: Client,
    other: Client,
    own_host: String,
    server_name: Option<String>,
    allow_plain_http: bool,
}

/// An answer with all of its body; of a refusal, the beginning.
pub(crate) struct Answer {
    /// Address after all redirections.
    pub(crate) url: Url,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A request has no answer.
pub(crate) enum SendError {
    /// The connection failed.
    Transport(reqwest::Error),
    /// The server answered, and the answer is of no use.
    Answer(ProtocolProblem),
    /// The server redirects; it has not carried out the request.
    Redirect(&'static str),
}

impl Transport {
    /// Reads the TLS files, blocking; connects to nothing.
    pub(crate) fn new(settings: &ServerSettings, address: &Url) -> Result<Self, SettingsError> {
        let own_host = address.host_str().unwrap_or_default().to_owned();
        let tls = settings.tls.read_now(&["h2", "http/1.1"])?;
        let builder = || {
            Client::builder()
                .redirect(redirect::Policy::none())
                .connect_timeout(settings.limits.connect_timeout)
                .user_agent(&settings.user_agent)
                .tls_backend_preconfigured(tls.clone())
        };
        let other = builder().build().map_err(SettingsError::Build)?;
        let own = match &settings.server_name {
            None => other.clone(),
            Some(name) => with_server_name(builder(), name, &own_host)?
                .build()
                .map_err(SettingsError::Build)?,
        };
        Ok(Self {
            own,
            other,
            own_host,
            server_name: settings.server_name.clone(),
            allow_plain_http: settings.allow_plain_http,
        })
    }

    /// Whether a URL has a permitted scheme and a host.
    pub(crate) fn permits(&self, url: &Url) -> bool {
        let is_plain = url.scheme() == "http" && self.allow_plain_http;
        (url.scheme() == "https" || is_plain) && url.has_host()
    }

    /// Sends once. `bearer` is only used for requests that need it.
    pub(crate) async fn send(
        &self,
        request: &Request,
        bearer: &HeaderValue,
    ) -> Result<Answer, SendError> {
        let mut bearer = (request.access == Access::Token).then_some(bearer);
        let mut url = request.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let answer = self.send_to(&url, request, bearer).await?;
            if !is_redirection(answer.status()) {
                return read(url, answer, request.longest).await;
            }
            let next = redirected(&url, &answer, request, |url| self.permits(url));
            let next = next.map_err(SendError::Redirect)?;
            if !same_origin(&url, &next) {
                bearer = None;
            }
            url = next;
        }
        Err(SendError::Redirect("after many others"))
    }

    async fn send_to(
        &self,
        url: &Url,
        request: &Request,
        bearer: Option<&HeaderValue>,
    ) -> Result<Response, SendError> {
        let mut url = url.clone();
        let mut client = &self.other;
        if url.host_str() == Some(&self.own_host) {
            client = &self.own;
            if let (Some(name), "https") = (&self.server_name, url.scheme()) {
                let renamed = url.set_host(Some(name));
                renamed.map_err(|_error| SendError::Redirect("to an unusable host"))?;
            }
        }
        let mut sent = client
            .request(request.method.clone(), url)
            .timeout(request.timeout);
        if let Some(bearer) = bearer {
            sent = sent.header(header::AUTHORIZATION, bearer);
        }
        if request.access == Access::Token {
            sent = sent.header(header::ACCEPT, JSON_API);
        }
        sent = match &request.content {
            // Some servers refuse even an empty POST without a type.
            Content::None if request.method == Method::POST => {
                sent.header(header::CONTENT_TYPE, JSON_API)
            }
            Content::None => sent,
            Content::Json(body) => sent
                .header(header::CONTENT_TYPE, JSON_API)
                .body(body.clone()),
            Content::Archive(body) => sent
                .header(header::CONTENT_TYPE, "application/octet-stream")
                .body(body.clone()),
        };
        sent.send().await.map_err(unreachable)
    }
}

async fn read(url: Url, mut answer: Response, longest: usize) -> Result<Answer, SendError> {
    let (status, headers) = (answer.status(), answer.headers().clone());
    let mut body = Vec::new();
    if status.is_success() {
        let is_too_long = |length: u64| length > longest as u64;
        let too_long = || SendError::Answer(ProtocolProblem::TooLong { limit: longest });
        if answer.content_length().is_some_and(is_too_long) {
            return Err(too_long());
        }
        while let Some(part) = answer.chunk().await.map_err(unreachable)? {
            if is_too_long((body.len() + part.len()) as u64) {
                return Err(too_long());
            }
            body.extend_from_slice(&part);
        }
    } else {
        // The status counts, whatever becomes of the text.
        while body.len() < LONGEST_REFUSAL
            && let Ok(Some(part)) = answer.chunk().await
        {
            body.extend_from_slice(&part);
        }
        body.truncate(LONGEST_REFUSAL);
    }
    Ok(Answer {
        url,
        status,
        headers,
        body,
    })
}

/// The error without the URL, which may be a signed one.
fn unreachable(error: reqwest::Error) -> SendError {
    SendError::Transport(error.without_url())
}
