//! The HTTP client that both kinds of handlers share.

use std::time::Duration;

use cts_http::{InvalidServerName, with_server_name};
use cts_tls::{ClientFiles, TlsError};
use reqwest::{Client, Url, redirect};

/// A client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The TLS files cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The server name is not valid.
    #[error(transparent)]
    InvalidServerName(#[from] InvalidServerName),
    /// The HTTP library refuses the settings.
    #[error("cannot set up the HTTP client")]
    Build(#[source] reqwest::Error),
}

/// A client for the host of `url` that follows no redirect. If the server's certificate must carry
/// `server_name`, that name becomes the host of `url`. Reads the TLS files, blocking.
pub(crate) fn client(
    url: &mut Url,
    server_name: Option<&str>,
    tls: &ClientFiles,
    timeout: Duration,
) -> Result<Client, ClientError> {
    let mut builder = Client::builder();
    if let (Some(name), "https") = (server_name, url.scheme()) {
        let host = url.host_str().unwrap_or_default().to_owned();
        builder = with_server_name(builder, name, &host)?;
        let invalid = |_unlike| InvalidServerName {
            name: name.to_owned(),
        };
        url.set_host(Some(name)).map_err(invalid)?;
    }
    builder
        .redirect(redirect::Policy::none())
        .connect_timeout(timeout)
        .timeout(timeout)
        .user_agent(concat!("cts/", env!("CARGO_PKG_VERSION")))
        .tls_backend_preconfigured(tls.read_now(&["h2", "http/1.1"])?)
        .build()
        .map_err(ClientError::Build)
}
