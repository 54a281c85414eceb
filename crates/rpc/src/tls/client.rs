//! The client's side.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use cts_tls::{Authorities, Contents, Files, Reloading, TlsError};
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::ServerName;
use tokio::sync::watch;
use tonic::transport::{ClientTlsConfig, Endpoint, Identity};

use crate::tls::files::ClientTlsFiles;

/// Authorities, and perhaps certificate and key, of a client, exchanged while it runs.
///
/// Cloning gives another handle on the same state. The files are followed only while a task polls
/// [`ClientTls::follow_files`].
#[derive(Clone)]
pub struct ClientTls(Arc<Reloading<ClientKeys>>);

/// Settings that new connections use, known to be in order.
pub(crate) struct ClientKeys {
    check: Arc<dyn ServerCertVerifier>,
    identity: Option<Identity>,
    server_name: Option<String>,
}

impl ClientTls {
    /// Reads the files.
    pub async fn load(files: ClientTlsFiles) -> Result<Self, TlsError> {
        if let Some(name) = &files.server_name
            && ServerName::try_from(name.as_str()).is_err()
        {
            return Err(TlsError::ServerName(name.clone()));
        }
        let read = Files {
            authorities: Some(Authorities::File(files.ca_cert.clone())),
            identity: files.identity.clone(),
        };
        let build = move |contents: &Contents| build(&files, contents);
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

    pub(crate) fn current(&self) -> Arc<ClientKeys> {
        self.0.current()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<ClientKeys>> {
        self.0.subscribe()
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls").finish_non_exhaustive()
    }
}

impl ClientKeys {
    /// Makes an endpoint one of a server whose certificate holds `host`, unless the settings name another.
    pub(crate) fn secure(
        &self,
        endpoint: Endpoint,
        host: String,
        limit: Duration,
    ) -> Result<Endpoint, tonic::transport::Error> {
        let name = self.server_name.clone().unwrap_or(host);
        let mut config = ClientTlsConfig::new().domain_name(name).timeout(limit);
        if let Some(identity) = &self.identity {
            config = config.identity(identity.clone());
        }
        endpoint.tls_config_with_verifier(config, Arc::clone(&self.check))
    }
}

fn build(files: &ClientTlsFiles, contents: &Contents) -> Result<ClientKeys, TlsError> {
    let check = contents.server_check()?.ok_or_else(|| TlsError::Absent {
        path: files.ca_cert.clone(),
        what: "certificate",
    })?;
    // The transport takes the text of the files and reports what is wrong without a name, at the first
    // connection; so it is tried out here.
    contents.identity()?;
    let identity = contents.identity_pem();
    Ok(ClientKeys {
        check,
        identity: identity.map(|(cert, key)| Identity::from_pem(cert, key)),
        server_name: files.server_name.clone(),
    })
}
