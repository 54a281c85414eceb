//! The server's side.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;

use crate::tls::files::{IdentityFiles, TlsError, TlsFiles};
use crate::tls::pem::{self, Contents, Files};
use crate::tls::reload::Reloading;

/// Certificate, key and authorities of a server, exchanged while it runs.
///
/// Cloning gives another handle on the same state. Nothing follows the files unless somebody polls
/// [`ServerTls::follow_files`].
#[derive(Clone)]
pub struct ServerTls(Arc<Reloading<Arc<ServerConfig>>>);

impl ServerTls {
    /// Reads the files. The authorities are needed only if clients must show certificates.
    pub async fn load(files: &TlsFiles) -> Result<Self, TlsError> {
        let identity = files.identity();
        let ca_cert = files.verify_incoming.then(|| files.ca_cert.clone());
        let read = Files {
            ca_cert: ca_cert.clone(),
            identity: Some(identity.clone()),
        };
        let build =
            Box::new(move |contents: &Contents| build(ca_cert.as_deref(), &identity, contents));
        Ok(Self(Arc::new(Reloading::load(read, build).await?)))
    }

    /// Reads the files now and says whether they have changed. After an error the earlier state stays
    /// in force.
    pub async fn reload(&self) -> Result<bool, TlsError> {
        self.0.reload().await
    }

    /// Looks at the files every 5 seconds until `shutdown` is over; what cannot be used is logged once
    /// and leaves the earlier state in force.
    pub async fn follow_files(self, shutdown: impl Future<Output = ()>) {
        self.0.follow(shutdown).await;
    }

    /// What a connection that begins now uses.
    pub(super) fn current(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.current())
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").finish_non_exhaustive()
    }
}

fn build(
    ca_cert: Option<&std::path::Path>,
    identity: &IdentityFiles,
    contents: &Contents,
) -> Result<Arc<ServerConfig>, TlsError> {
    let builder = ServerConfig::builder_with_provider(pem::provider())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::SetUp)?;
    let builder = match ca_cert.zip(contents.ca_cert.as_ref()) {
        None => builder.with_no_client_auth(),
        Some((path, ca_cert)) => {
            let authorities = pem::authorities(path, ca_cert)?;
            let verifier =
                WebPkiClientVerifier::builder_with_provider(authorities, pem::provider())
                    .build()
                    .map_err(|source| TlsError::ClientCheck {
                        path: path.to_owned(),
                        source,
                    })?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let pair = contents.identity.as_ref().ok_or_else(|| TlsError::Absent {
        path: identity.cert.clone(),
        what: "certificate",
    })?;
    let (chain, key) = pem::identity(identity, pair)?;
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|source| pem::unusable(identity, source))?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}
