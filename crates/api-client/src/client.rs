//! The API at one address.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Url};
use tokio_rustls::rustls::ClientConfig;

use crate::address::Address;
use crate::error::{CallError, SetupError};
use crate::redirects::redirects;
use crate::settings::ClientSettings;
use crate::tls;
use crate::token::TokenSource;

/// Time for a connection to be made. An answer may take any time: it comes after Terraform's work.
const CONNECT: Duration = Duration::from_secs(30);

/// Idle time after which the client checks that its peer still lives.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The REST API at one address.
///
/// No request has a time limit, and no proxy is used, whatever the environment says
/// (docs/cli.md#options-of-all-of-them). Dropping the future of a request ends the connection; the server may finish
/// the work all the same.
#[derive(Debug, Clone)]
pub struct ApiClient {
    pub(crate) client: Client,
    pub(crate) address: Address,
    pub(crate) tls: Arc<ClientConfig>,
    token: Option<HeaderValue>,
}

impl ApiClient {
    /// A client; it connects only with its first request. Files of TLS are read before the address is checked,
    /// whatever its scheme.
    ///
    /// # Errors
    ///
    /// A file, the address or the token cannot be used.
    pub fn new(settings: &ClientSettings) -> Result<Self, SetupError> {
        let tls = tls::files(&settings.tls)?.read_now(&["h2", "http/1.1"])?;
        let address = Address::parse(&settings.address, settings.port)?;
        let token = settings.token.as_ref().map(TokenSource::read);
        let token = token.transpose()?.and_then(|token| token.header());
        let builder = Client::builder()
            .no_proxy()
            .connect_timeout(CONNECT)
            .tcp_keepalive(KEEP_ALIVE)
            .redirect(redirects(token.is_some()))
            .tls_backend_preconfigured(tls.clone());
        let client = builder.build().map_err(SetupError::Build)?;
        Ok(Self {
            client,
            address,
            tls: Arc::new(tls),
            token,
        })
    }

    /// The address of the API, for display: without user name and password.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Whether requests carry a token.
    pub fn sends_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether requests leave this machine without TLS.
    pub fn is_plain_over_network(&self) -> bool {
        self.address.is_plain_over_network()
    }

    /// A request with the token, if there is one.
    pub(crate) fn request(&self, method: Method, url: Url) -> RequestBuilder {
        let request = self.client.request(method, url);
        match &self.token {
            // Takes the place of a user name and password in the address.
            Some(token) => request.headers(HeaderMap::from_iter([(AUTHORIZATION, token.clone())])),
            None => request,
        }
    }
}

/// `name`, if it can stand in a path. These cannot: the path would be that of something else.
pub(crate) fn usable(name: &str) -> Result<&str, CallError> {
    match name {
        "" | "." | ".." => Err(CallError::UnusableName {
            name: name.to_owned(),
        }),
        name => Ok(name),
    }
}
