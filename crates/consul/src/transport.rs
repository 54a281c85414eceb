//! The HTTP client: connections, TLS and what goes with every request.

use std::time::Duration;

use cts_http::with_server_name;
use cts_tls::ClientFiles;
use reqwest::header::{HeaderMap, HeaderValue, InvalidHeaderValue};
use reqwest::{Client, ClientBuilder, Url, redirect};
use secrecy::ExposeSecret as _;

use crate::address::Address;
use crate::error::SettingsError;
use crate::settings::{ConsulSettings, readers_of};

const TOKEN: &str = "x-consul-token";

/// A client for these settings, and the URL that all paths are appended to (no slash at its end).
pub(crate) fn connect(settings: &ConsulSettings) -> Result<(Client, String), SettingsError> {
    let (builder, base) = builder(settings, &["h2", "http/1.1"])?;
    Ok((builder.build().map_err(SettingsError::Build)?, base))
}

/// A client for a server that speaks HTTP/2. All its requests share one connection, also while the connection is being
/// made.
pub(crate) fn connect_http2(settings: &ConsulSettings) -> Result<Client, SettingsError> {
    let (builder, _base) = builder(settings, &["h2"])?;
    let client = builder.http2_prior_knowledge().build();
    client.map_err(SettingsError::Build)
}

fn builder(
    settings: &ConsulSettings,
    protocols: &[&str],
) -> Result<(ClientBuilder, String), SettingsError> {
    let address = Address::parse(&settings.address)?;
    let secure = address.https || settings.tls.enabled;
    let mut dial_timeout = settings.dial_timeout;
    if secure {
        dial_timeout += settings.tls_handshake_timeout;
    }
    let max_idle = if settings.disable_keep_alives {
        0
    } else {
        // Further connections may be in use at the same time.
        let unused = readers_of(settings.max_per_host);
        settings.max_idle_per_host.min(unused)
    };
    let mut builder = Client::builder()
        .default_headers(headers(settings)?)
        // Consul redirects a path that it would clean, so a followed redirection would read something else than
        // intended; and the token would be sent to another host.
        .redirect(redirect::Policy::none())
        .connect_timeout(dial_timeout)
        .read_timeout(settings.silence_timeout)
        .tcp_nodelay(true)
        .tcp_keepalive(settings.keep_alive)
        .tcp_keepalive_interval(Duration::from_secs(15))
        .tcp_keepalive_retries(4)
        .pool_idle_timeout(settings.idle_timeout)
        .pool_max_idle_per_host(max_idle);
    if address.is_local() {
        builder = builder.no_proxy().gzip(false);
    }
    if let Some(socket) = &address.socket {
        builder = builder.unix_socket(socket.as_path());
    }
    let mut authority = address.authority.clone();
    // A proxy may be reached by TLS even if Consul is not.
    let mut tls = ClientFiles::default();
    if secure {
        tls = settings.tls.files();
        if let Some(name) = &settings.tls.server_name {
            builder = with_server_name(builder, name, address.host())?;
            authority = match address.port() {
                Some(port) => format!("{name}:{port}"),
                None => name.clone(),
            };
        }
    }
    builder = builder.tls_backend_preconfigured(tls.read_now(protocols)?);
    let scheme = if secure { "https" } else { "http" };
    let base = format!("{scheme}://{authority}{}", address.prefix);
    Url::parse(&base).map_err(SettingsError::InvalidUrl)?;
    Ok((builder, base))
}

/// A URL below a base that [`connect`] has checked.
pub(crate) fn url(base: &str, path: &str) -> Url {
    Url::parse(&format!("{base}{path}")).expect("the base is a URL and the path is encoded")
}

fn headers(settings: &ConsulSettings) -> Result<HeaderMap, SettingsError> {
    let mut headers = HeaderMap::new();
    if let Some(token) = &settings.token {
        let value = secret_header(token.expose_secret());
        headers.insert(TOKEN, value.map_err(invalid("token"))?);
    }
    Ok(headers)
}

fn secret_header(text: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    let mut value = HeaderValue::from_str(text)?;
    value.set_sensitive(true);
    Ok(value)
}

fn invalid(what: &'static str) -> impl FnOnce(InvalidHeaderValue) -> SettingsError {
    move |source| SettingsError::InvalidHeader { what, source }
}
