//! The server's side.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use rustls::ServerConfig;

use crate::contents::{Contents, cryptography};
use crate::error::TlsError;
use crate::files::{Authorities, Files, IdentityFiles};
use crate::reload::Reloading;
use crate::verifiers::client_check;

/// Certificates that a server shows and demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFiles {
    /// Certificate and key that the server shows.
    pub identity: IdentityFiles,
    /// Authorities that clients' certificates must come from; without them clients show none.
    pub clients: Option<Authorities>,
    /// The application protocols (ALPN) that it speaks, best first.
    pub protocols: Vec<&'static str>,
}

/// Certificate, key and authorities of a server, exchanged while it runs. TLS 1.2 at least.
///
/// Cloning gives another handle on the same state. The files are followed only while a task polls
/// [`ServerTls::follow_files`].
#[derive(Clone)]
pub struct ServerTls(Arc<Reloading<Configs>>);

/// Settings of TLS from the files, for two kinds of listeners.
struct Configs {
    /// Demands certificates of clients, if the files name authorities for them.
    strict: Arc<ServerConfig>,
    /// Checks certificates of clients that show one.
    lenient: ServerConfig,
}

impl ServerTls {
    /// Reads the files.
    pub async fn load(files: impl Into<ServerFiles>) -> Result<Self, TlsError> {
        let files = files.into();
        let read = Files {
            authorities: files.clients.clone(),
            identity: Some(files.identity.clone()),
        };
        let build = move |contents: &Contents| {
            Ok(Configs {
                strict: Arc::new(build(&files, contents, true)?),
                lenient: build(&files, contents, false)?,
            })
        };
        Ok(Self(Arc::new(Reloading::load(read, build).await?)))
    }

    /// Reads the files now and returns whether they have changed. After an error the earlier state stays in
    /// force.
    pub async fn reload(&self) -> Result<bool, TlsError> {
        self.0.reload().await
    }

    /// Looks at the files every 5 seconds until `shutdown` is over; what cannot be used is logged once
    /// and leaves the earlier state in force.
    pub async fn follow_files(self, shutdown: impl Future<Output = ()>) {
        self.0.follow(shutdown).await;
    }

    /// Returns the configuration for a connection that begins now.
    pub fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.current().strict)
    }

    /// Returns the configuration for a connection that begins now, at a listener that judges each request by itself:
    /// clients may have no certificate. `protocols` replace the application protocols (ALPN) of the files.
    pub fn lenient(&self, protocols: &[&str]) -> Arc<ServerConfig> {
        let mut config = self.0.current().lenient.clone();
        config.alpn_protocols = alpn(protocols);
        Arc::new(config)
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").finish_non_exhaustive()
    }
}

fn build(
    files: &ServerFiles,
    contents: &Contents,
    mandatory: bool,
) -> Result<ServerConfig, TlsError> {
    let builder = ServerConfig::builder_with_provider(cryptography())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::SetUp)?;
    let builder = match (contents.authorities()?, &files.clients) {
        (Some(trusted), Some(clients)) => {
            let check =
                client_check(trusted, mandatory).map_err(|source| TlsError::ClientCheck {
                    path: clients.path().to_owned(),
                    source,
                })?;
            builder.with_client_cert_verifier(check)
        }
        _ => builder.with_no_client_auth(),
    };
    let (chain, key) = contents.identity()?.ok_or_else(|| TlsError::Absent {
        path: files.identity.cert.clone(),
        what: "certificate",
    })?;
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|source| contents.unusable(source))?;
    config.alpn_protocols = alpn(&files.protocols);
    Ok(config)
}

fn alpn(protocols: &[&str]) -> Vec<Vec<u8>> {
    let protocols = protocols.iter();
    protocols.map(|name| name.as_bytes().to_vec()).collect()
}
