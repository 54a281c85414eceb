//! Signed URLs: the URL alone gives access, so it is secret.

use bytes::Bytes;
use reqwest::Method;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use crate::call::Call;
use crate::error::ApiError;
use crate::problem::ProtocolProblem;
use crate::redirection::same_origin;
use crate::request::{Access, Content, Request};
use crate::server::Server;

/// A URL that needs no token, for one hour or more. `Debug` does not show it; it is not to be stored.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct SignedUrl(SecretString);

impl From<String> for SignedUrl {
    fn from(url: String) -> Self {
        Self(SecretString::from(url))
    }
}

impl Server {
    /// A request to a signed URL, which may be relative to the base of the API.
    pub(crate) fn signed(&self, method: Method, url: &SignedUrl) -> Result<Request, ApiError> {
        let parsed = self.base().join(url.0.expose_secret()).ok();
        let url = parsed.filter(|url| self.transport().permits(url));
        let url = url.ok_or_else(|| ApiError::Protocol {
            call: Call::signed(&method, self.base()),
            problem: ProtocolProblem::SignedUrl,
        })?;
        let timeout = self.limits().transfer_timeout;
        Ok(Request::new(method, url, Access::Signed, timeout))
    }

    /// Sends an archive to a signed URL.
    pub(crate) async fn upload(&self, url: &SignedUrl, archive: Bytes) -> Result<(), ApiError> {
        let mut request = self.signed(Method::PUT, url)?;
        request.content = Content::Archive(archive);
        self.order(request).await
    }

    /// Reads everything at a signed URL.
    ///
    /// Some servers name a URL of their own that needs the token after all. Such a URL gets the token if it has
    /// the origin of the API, and only after it was refused without.
    pub(crate) async fn download(
        &self,
        url: &SignedUrl,
        longest: usize,
    ) -> Result<Vec<u8>, ApiError> {
        let mut request = self.signed(Method::GET, url)?;
        request.longest = longest;
        let is_own = same_origin(&request.url, self.base());
        let answer = match self.exchange(&request).await {
            Err(ApiError::ExpiredUrl(_)) if is_own => {
                request.access = Access::Token;
                self.exchange(&request).await
            }
            answer => answer,
        };
        Ok(answer?.body)
    }
}
