//! A server, and the forms of requests to its API.

use std::sync::Arc;

use cts_core::excerpt;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::HeaderValue;
use reqwest::{Method, Url};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::budget::Budget;
use crate::document::Document;
use crate::error::ApiError;
use crate::problem::ProtocolProblem;
use crate::request::{Access, Request};
use crate::settings::{Limits, ServerSettings, bearer};
use crate::transport::{Answer, Transport};
use crate::verdict::unusable;

/// Characters that are not encoded in a path.
const IN_PATH: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A server whose API is known. Cheap to clone; clones share connections and budget.
#[derive(Debug, Clone)]
pub struct Server {
    transport: Transport,
    address: Url,
    base: Url,
    token: SecretString,
    bearer: HeaderValue,
    budget: Arc<dyn Budget>,
    limits: Limits,
}

impl Server {
    /// Reads the TLS files (blocking) and the discovery document of the host. The base of the API is kept for
    /// the life of the value.
    pub async fn discover(
        settings: &ServerSettings,
        budget: Arc<dyn Budget>,
    ) -> Result<Self, ApiError> {
        let address = settings.address()?;
        let mut server = Self {
            transport: Transport::new(settings, &address)?,
            base: address.clone(),
            address,
            token: settings.token.clone(),
            bearer: bearer(&settings.token)?,
            budget,
            limits: settings.limits,
        };
        server.base = server.read_base().await?;
        Ok(server)
    }

    /// URL of the host that the settings name.
    pub const fn address(&self) -> &Url {
        &self.address
    }

    /// URL that the paths of the API follow, with a slash at its end.
    pub const fn base(&self) -> &Url {
        &self.base
    }

    /// Succeeds if the server answers and accepts the token.
    pub async fn ping(&self) -> Result<(), ApiError> {
        self.order(self.request(Method::GET, &["ping"])?).await
    }

    pub(crate) const fn transport(&self) -> &Transport {
        &self.transport
    }

    pub(crate) const fn token(&self) -> &SecretString {
        &self.token
    }

    pub(crate) const fn bearer(&self) -> &HeaderValue {
        &self.bearer
    }

    pub(crate) fn budget(&self) -> &dyn Budget {
        &*self.budget
    }

    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Reads an object, or anything else with `data`.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, ApiError> {
        self.read(&self.request(Method::GET, path)?).await
    }

    /// Creates an object. Never repeated blindly.
    pub(crate) async fn create<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &Value,
    ) -> Result<T, ApiError> {
        let request = self.request(Method::POST, path)?;
        self.read(&request.with(body)).await
    }

    /// Changes an object.
    pub(crate) async fn update<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &Value,
    ) -> Result<T, ApiError> {
        let request = self.request(Method::PATCH, path)?;
        self.read(&request.with(body)).await
    }

    /// Sends a request whose answer has no content of use.
    pub(crate) async fn order(&self, request: Request) -> Result<(), ApiError> {
        self.exchange(&request).await?;
        Ok(())
    }

    /// Sends a request and reads the object in the answer.
    pub(crate) async fn read<T: DeserializeOwned>(&self, request: &Request) -> Result<T, ApiError> {
        let answer = self.exchange(request).await?;
        let document: Document<T> = decode(request, &answer)?;
        Ok(document.data)
    }

    /// A request to the API. Segments of the path are encoded.
    pub(crate) fn request(&self, method: Method, path: &[&str]) -> Result<Request, ApiError> {
        let mut whole = self.base.path().trim_end_matches('/').to_owned();
        for segment in path {
            if matches!(*segment, "" | "." | "..") {
                let name = (*segment).to_owned();
                return Err(ApiError::InvalidName { name });
            }
            whole.push('/');
            whole.extend(utf8_percent_encode(segment, &IN_PATH));
        }
        let mut url = self.base.clone();
        url.set_path(&whole);
        Ok(Request::new(
            method,
            url,
            Access::Token,
            self.limits.timeout,
        ))
    }
}

/// Reads the JSON of an answer.
pub(crate) fn decode<T: DeserializeOwned>(
    request: &Request,
    answer: &Answer,
) -> Result<T, ApiError> {
    serde_json::from_slice(&answer.body).map_err(|error| {
        let problem = excerpt(&error.to_string(), 200);
        unusable(request, ProtocolProblem::Decode { problem })
    })
}
