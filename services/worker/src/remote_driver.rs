//! The server of the driver `terraform-cloud`: its settings, the workspaces of tasks and their contents.

mod archive;
mod budget;
pub(crate) mod configuration;
pub(crate) mod error;
pub(crate) mod known_workspace;
pub(crate) mod other_workspace;
pub(crate) mod placement;
pub(crate) mod previous;
pub(crate) mod progress;
pub(crate) mod push;
pub(crate) mod reach;
mod rules;
mod settings;
pub(crate) mod start_permit;
pub(crate) mod target_workspace;
pub(crate) mod variables;
pub(crate) mod version;
pub(crate) mod workspace;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use cts_hcp_terraform::{Limits, Server, ServerSettings};
use cts_terraform::Terraform;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::{Mutex, Semaphore};

pub(crate) use self::error::RemoteError;
pub use self::rules::WorkspaceSettings;
pub use self::settings::{RemoteSettings, RemoteSettingsError};

use self::budget::Share;
use self::settings::{CONNECT_TIMEOUT, RETRY_FOR};
use self::start_permit::StartPermits;
use self::variables::KnownVariables;
use crate::values::{ValueSources, is_template, resolve_text};

/// Archives that are packed and sent at a time; each is in memory.
const UPLOADS: usize = 4;

/// Makes runs on a server. Made once for a worker; nothing is connected before the first run.
pub struct RemoteDriver {
    pub(crate) settings: RemoteSettings,
    share: Share,
    server: Mutex<Option<Server>>,
    /// Reads states out of the backend that had them before.
    pub(crate) terraform: Option<Arc<Terraform>>,
    uploads: Semaphore,
    pub(crate) start_permits: StartPermits,
    pub(crate) variables: KnownVariables,
    /// Remote runs that are being polled.
    polled: Arc<AtomicUsize>,
}

impl RemoteDriver {
    /// Checks the settings. `terraform` reads states that are elsewhere.
    pub fn new(
        settings: RemoteSettings,
        terraform: Option<Arc<Terraform>>,
    ) -> Result<Self, RemoteSettingsError> {
        settings.check()?;
        Ok(Self {
            share: Share::default(),
            settings,
            server: Mutex::default(),
            terraform,
            uploads: Semaphore::new(UPLOADS),
            start_permits: StartPermits::default(),
            variables: KnownVariables::default(),
            polled: Arc::default(),
        })
    }

    /// Sets the requests a minute that this worker may send; 0 if the scheduler sets no share.
    pub(crate) fn set_share(&self, per_minute: u32) {
        self.share.set(per_minute);
    }

    /// The server. Connects if that was not done yet, or if the token was refused.
    pub(crate) async fn server(&self, values: &ValueSources) -> Result<Server, RemoteError> {
        let mut known = self.server.lock().await;
        if let Some(server) = &*known {
            return Ok(server.clone());
        }
        let settings = self.server_settings(values).await?;
        let budget = Arc::clone(&self.share.budget) as _;
        let server = Server::discover(&settings, budget).await?;
        Ok(known.insert(server).clone())
    }

    /// Forgets the connection because the token was refused: the source of the token may have a new token.
    pub(crate) async fn forget_server(&self) {
        *self.server.lock().await = None;
    }

    async fn server_settings(&self, values: &ValueSources) -> Result<ServerSettings, RemoteError> {
        let RemoteSettings {
            hostname,
            token,
            tls,
            server_name,
            ..
        } = &self.settings;
        let written = token.expose_secret();
        let token = if is_template(written) {
            let found = resolve_text(values, "driver \"terraform-cloud\"", "token", written);
            SecretString::from(found.await?)
        } else {
            token.clone()
        };
        Ok(ServerSettings {
            tls: tls.clone(),
            server_name: server_name.clone(),
            limits: Limits {
                connect_timeout: CONNECT_TIMEOUT,
                retry_for: RETRY_FOR,
                ..Limits::default()
            },
            ..ServerSettings::new(hostname, token)
        })
    }
}

impl fmt::Debug for RemoteDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteDriver")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
