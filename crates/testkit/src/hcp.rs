//! A stub of the API of HCP Terraform, with the real Terraform, for one test.
//!
//! Start with [`HcpServer`]. Everything is in memory; runs have their files in a directory that ends with the server.

mod answer;
mod api;
mod archive;
mod call;
mod caller;
mod client_view;
mod control;
mod engine;
mod faults;
mod gate;
mod incoming;
mod inspection;
mod listener;
mod model;
mod person;
mod phase;
mod settings;
mod shared;
mod upload;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;
use uuid::Uuid;

pub use caller::Right;
pub use client_view::{HcpAccess, HcpApi, STUB_NAME};
pub use faults::{Fault, HcpRequest};
pub use inspection::{RunRecord, VariableRecord};
pub use model::Policy;
pub use phase::Phase;
pub use settings::HcpSettings;
pub use upload::gzip_tar;

use caller::Caller;
use gate::Door;
use listener::Listener;
use model::Model;
use settings::BASE_PATH;
use shared::Shared;

/// A server on 127.0.0.1 that speaks the API of HCP Terraform and carries out runs, by itself and one after the other for
/// each workspace. Ends when dropped, with all processes that it has started.
#[derive(Debug)]
pub struct HcpServer {
    shared: Arc<Shared>,
    tls: Option<Tls>,
    api: tokio::sync::Mutex<Listener>,
    archive: tokio::sync::Mutex<Listener>,
    token: String,
    directory: Option<TempDir>,
}

#[derive(Clone)]
struct Tls(TlsAcceptor);

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Tls")
    }
}

impl HcpServer {
    /// Starts a server in plain text.
    pub async fn start(settings: HcpSettings) -> Self {
        Self::serve(settings, None).await
    }

    async fn serve(settings: HcpSettings, tls: Option<TlsAcceptor>) -> Self {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let directory = TempDir::new();
        let directory = directory.unwrap_or_else(|error| panic!("no directory: {error}"));
        let api = listener::bind().await;
        let archive = listener::bind().await;
        let socket = |listener: &tokio::net::TcpListener| {
            let address = listener.local_addr();
            address.unwrap_or_else(|error| panic!("no address: {error}"))
        };
        let address = format!("{scheme}://{}", socket(&api));
        let archive_address = format!("{scheme}://{}", socket(&archive));
        let model = Model::new(settings, address, archive_address);
        let shared = Arc::new(Shared::new(
            model,
            directory.path().to_owned(),
            |shared, id| Box::pin(engine::follow(shared, id)),
        ));
        let server = Self {
            shared,
            tls: tls.map(Tls),
            api: tokio::sync::Mutex::new(Listener::at(socket(&api))),
            archive: tokio::sync::Mutex::new(Listener::at(socket(&archive))),
            token: format!("stub.atlasv1.{}", Uuid::new_v4().simple()),
            directory: Some(directory),
        };
        server.accept_token();
        server.open(&mut *server.api.lock().await, api, Door::Api);
        server.open(&mut *server.archive.lock().await, archive, Door::Archive);
        server
    }

    fn open(&self, listener: &mut Listener, bound: tokio::net::TcpListener, door: Door) {
        let tls = self.tls.clone().map(|tls| tls.0);
        listener.serve(bound, door, Arc::clone(&self.shared), tls);
    }

    /// `http://127.0.0.1:port`, or with `https`; the path of the API is found by discovery.
    pub fn address(&self) -> String {
        self.shared.read(|model| model.address.clone())
    }

    /// Address of the API, with a slash at its end.
    pub fn api_address(&self) -> String {
        format!("{}{BASE_PATH}", self.address())
    }

    /// The token, which may do everything.
    pub fn token(&self) -> String {
        self.token.clone()
    }

    /// Revokes [`Self::token`]: it gets 401.
    pub fn revoke_token(&self) {
        self.shared.change(|model| model.tokens.remove(&self.token));
    }

    /// Lets [`Self::token`] work again after [`Self::revoke_token`].
    pub fn accept_token(&self) {
        let token = self.token();
        self.shared
            .change(|model| model.tokens.insert(token, service_account(&[])));
    }

    /// Takes these rights from the token, and gives back all others.
    pub fn take_rights(&self, missing: &[Right]) {
        self.shared.change(|model| {
            for caller in model.tokens.values_mut() {
                *caller = service_account(missing);
            }
        });
    }

    /// Closes all ports and cuts all connections. Runs go on.
    pub async fn go_down(&self) {
        self.api.lock().await.close().await;
        self.archive.lock().await.close().await;
    }

    /// Opens the ports again that [`Self::go_down`] has closed.
    pub async fn come_up(&self) {
        for (listener, door) in [(&self.api, Door::Api), (&self.archive, Door::Archive)] {
            let mut listener = listener.lock().await;
            let bound = listener.rebind().await;
            self.open(&mut listener, bound, door);
        }
    }
}

impl Drop for HcpServer {
    fn drop(&mut self) {
        const TRIES: usize = 50;
        const PAUSE: Duration = Duration::from_millis(10);
        self.shared.end();
        // A killed process may write until it is gone.
        let path = self.directory.take().map(TempDir::keep);
        for _ in 0..TRIES {
            match path.as_ref().map(std::fs::remove_dir_all) {
                Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => {
                    std::thread::sleep(PAUSE);
                }
                _ => return,
            }
        }
    }
}

fn service_account(missing: &[Right]) -> Caller {
    Caller {
        name: "cts-service".to_owned(),
        missing: missing.iter().copied().collect::<BTreeSet<Right>>(),
    }
}
