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

use crate::address::Address;
use crate::tls::files::ClientTlsFiles;
use crate::tls::server_role::{RoleCheck, ServerRule};

/// Authorities, and perhaps certificate and key, of a client, exchanged while it runs.
///
/// Cloning gives another handle on the same state. The files are followed only while a task polls
/// [`ClientTls::follow_files`].
#[derive(Clone)]
pub struct ClientTls {
    keys: Arc<Reloading<Keys>>,
    servers: Option<Arc<ServerRule>>,
}

/// Contents of the files, known to be in order.
struct Keys {
    check: Arc<dyn ServerCertVerifier>,
    identity: Option<Identity>,
    server_name: Option<String>,
}

/// Settings that new connections use.
#[derive(Clone)]
pub(crate) struct ClientKeys {
    keys: Arc<Keys>,
    servers: Option<Arc<ServerRule>>,
}

/// The settings of new connections over time.
pub(crate) struct KeyChanges {
    keys: watch::Receiver<Arc<Keys>>,
    servers: Option<Arc<ServerRule>>,
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
        Ok(Self {
            keys: Arc::new(Reloading::load(read, build).await?),
            servers: None,
        })
    }

    /// Reads the files now and returns whether they have changed. After an error the earlier state stays in
    /// force.
    pub async fn reload(&self) -> Result<bool, TlsError> {
        self.keys.reload().await
    }

    /// Another handle with the same state, for servers that this rule admits.
    #[must_use]
    pub fn with_servers(&self, rule: ServerRule) -> Self {
        Self {
            keys: Arc::clone(&self.keys),
            servers: Some(Arc::new(rule)),
        }
    }

    /// Looks at the files every 5 seconds until `shutdown` is over; what cannot be used is logged once
    /// and leaves the earlier state in force.
    pub async fn follow_files(self, shutdown: impl Future<Output = ()>) {
        self.keys.follow(shutdown).await;
    }

    pub(crate) fn current(&self) -> ClientKeys {
        ClientKeys {
            keys: self.keys.current(),
            servers: self.servers.clone(),
        }
    }

    pub(crate) fn subscribe(&self) -> KeyChanges {
        KeyChanges {
            keys: self.keys.subscribe(),
            servers: self.servers.clone(),
        }
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls").finish_non_exhaustive()
    }
}

impl KeyChanges {
    /// The settings of now, which stay unseen for [`Self::changed`].
    pub(crate) fn current(&self) -> ClientKeys {
        ClientKeys {
            keys: Arc::clone(&self.keys.borrow()),
            servers: self.servers.clone(),
        }
    }

    /// The settings of now, which count as seen.
    pub(crate) fn take(&mut self) -> ClientKeys {
        ClientKeys {
            keys: Arc::clone(&self.keys.borrow_and_update()),
            servers: self.servers.clone(),
        }
    }

    /// Waits for unseen settings. Returns false if there will be none.
    pub(crate) async fn changed(&mut self) -> bool {
        self.keys.changed().await.is_ok()
    }
}

impl ClientKeys {
    /// Adds TLS to an endpoint of the server at `address`; `target` is the socket or the same text. The certificate of
    /// the server must hold the host of `address`, unless the settings name another.
    pub(crate) fn secure(
        &self,
        endpoint: Endpoint,
        (address, target): (&Address, &str),
        limit: Duration,
    ) -> Result<Endpoint, tonic::transport::Error> {
        let Keys {
            check,
            identity,
            server_name,
        } = &*self.keys;
        let name = server_name.clone();
        let name = name.unwrap_or_else(|| address.certified_host());
        let mut config = ClientTlsConfig::new().domain_name(name).timeout(limit);
        if let Some(identity) = identity {
            config = config.identity(identity.clone());
        }
        let mut check = Arc::clone(check);
        if let Some(rule) = &self.servers {
            let shown = match address.to_string() {
                address if address == target => address,
                address => format!("{address} ({target})"),
            };
            check = Arc::new(RoleCheck::new(check, Arc::clone(rule), shown));
        }
        endpoint.tls_config_with_verifier(config, check)
    }
}

fn build(files: &ClientTlsFiles, contents: &Contents) -> Result<Keys, TlsError> {
    let check = contents.server_check()?.ok_or_else(|| TlsError::Absent {
        path: files.ca_cert.clone(),
        what: "certificate",
    })?;
    // The transport takes the text of the files and reports what is wrong without a name, at the first
    // connection; so it is tried out here.
    contents.identity()?;
    let identity = contents.identity_pem();
    Ok(Keys {
        check,
        identity: identity.map(|(cert, key)| Identity::from_pem(cert, key)),
        server_name: files.server_name.clone(),
    })
}
