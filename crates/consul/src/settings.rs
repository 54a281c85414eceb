//! Settings for reaching Consul.

use std::path::PathBuf;
use std::time::Duration;

use cts_tls::{Authorities, ClientFiles, IdentityFiles};
use secrecy::SecretString;

/// Requested duration for which Consul holds a blocking query; Consul adds up to a sixteenth. An agent's own default
/// may be longer than cts waits.
pub(crate) const WAIT_TIME: Duration = Duration::from_mins(5);

/// Connections for reading, at most.
const MOST_READERS: usize = 16;
/// Part of the connections that is for reading, and as many may be unused in between.
const SHARE_OF_READERS: usize = 8;

/// Connections for reading, of so many.
pub(crate) fn readers_of(connections: usize) -> usize {
    (connections / SHARE_OF_READERS).clamp(1, MOST_READERS)
}

/// Everything about the way to Consul, resolved: file, environment and defaults are the caller's
/// business (docs/runs.md#the-connection-to-consul). Only the proxy variables are read by the HTTP library.
#[derive(Debug, Clone)]
pub struct ConsulSettings {
    /// `host:port`, `http://…`, `https://…` or `unix://…`; a path after the host goes before every
    /// request. An empty text is `127.0.0.1:8500`.
    pub address: String,
    /// ACL token, sent as `X-Consul-Token`.
    pub token: Option<SecretString>,
    /// User name and password of HTTP basic authentication.
    pub basic_auth: Option<(String, SecretString)>,
    /// TLS, also used when the address begins with `https://`.
    pub tls: TlsSettings,
    /// Namespace of requests that name none; Consul Enterprise only.
    pub namespace: Option<String>,
    /// Admin partition of all requests; Consul Enterprise only.
    pub partition: Option<String>,
    /// Time for a connection to be made.
    pub dial_timeout: Duration,
    /// Time for the TLS handshake, granted on top of [`dial_timeout`](Self::dial_timeout).
    pub tls_handshake_timeout: Duration,
    /// Idle time after which a connection is probed.
    pub keep_alive: Duration,
    /// Time after which an unused connection is closed.
    pub idle_timeout: Duration,
    /// Unused connections that are kept.
    pub max_idle_per_host: usize,
    /// Most connections that queries are followed over. Consul takes 200 of a client, unless it is configured otherwise.
    pub max_per_host: usize,
    /// A new connection for every request.
    pub disable_keep_alives: bool,
    /// Longest silence of Consul in the middle of a request. Must exceed the time that Consul holds a blocking
    /// query: 5 minutes and a sixteenth.
    pub silence_timeout: Duration,
    /// Time between the starts of two requests for a view that Consul does not hold, because its answers have no index.
    pub poll_interval: Duration,
    /// Most bytes of an answer, without its compression.
    pub longest_answer: usize,
}

/// TLS towards Consul.
#[derive(Debug, Clone)]
pub struct TlsSettings {
    /// Whether TLS is used even if the address does not begin with `https://`.
    pub enabled: bool,
    /// Whether Consul's certificate is checked; `false` overrides every other setting.
    pub verify: bool,
    /// File with the authorities to trust instead of the system's.
    pub ca_cert: Option<PathBuf>,
    /// Directory of such files, searched with all its subdirectories; if [`ca_cert`](Self::ca_cert) is set, only that
    /// file counts.
    pub ca_path: Option<PathBuf>,
    /// File with the client certificate; alone it holds the key too.
    pub cert: Option<PathBuf>,
    /// File with the client key; alone it holds the certificate too.
    pub key: Option<PathBuf>,
    /// Name that Consul's certificate must carry, and that is sent as SNI.
    pub server_name: Option<String>,
}

impl TlsSettings {
    pub(crate) fn files(&self) -> ClientFiles {
        ClientFiles {
            authorities: Authorities::of(self.ca_cert.as_deref(), self.ca_path.as_deref()),
            identity: IdentityFiles::of(self.cert.as_deref(), self.key.as_deref()),
            verify: self.verify,
        }
    }
}

impl Default for ConsulSettings {
    fn default() -> Self {
        Self {
            address: "localhost:8500".into(),
            token: None,
            basic_auth: None,
            tls: TlsSettings::default(),
            namespace: None,
            partition: None,
            dial_timeout: Duration::from_secs(30),
            tls_handshake_timeout: Duration::from_secs(10),
            keep_alive: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(5),
            max_idle_per_host: 100,
            max_per_host: 100,
            disable_keep_alives: false,
            // Half a minute for a busy server.
            silence_timeout: WAIT_TIME + WAIT_TIME / 16 + Duration::from_secs(30),
            poll_interval: Duration::from_secs(5),
            longest_answer: 256 << 20,
        }
    }
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            verify: true,
            ca_cert: None,
            ca_path: None,
            cert: None,
            key: None,
            server_name: None,
        }
    }
}
