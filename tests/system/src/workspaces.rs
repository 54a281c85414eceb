//! The workspaces of a site's tasks on a server, as another program sees them.

use std::path::Path;

use cts_testkit::HcpServer;

use crate::remote::{RemoteServer, start_stub};

/// A server with the workspaces of one site. Workspaces on a given server are deleted when it is dropped; a stub ends.
#[derive(Debug)]
pub(crate) struct Workspaces {
    server: RemoteServer,
    stub: Option<HcpServer>,
}

impl Workspaces {
    /// A stub, whose Terraform works on this machine.
    pub(crate) async fn on_stub(site: &Path) -> Self {
        let stub = start_stub(site, |_settings| {}).await;
        Self {
            server: RemoteServer::of_stub(&stub, site),
            stub: Some(stub),
        }
    }

    /// The given server, and without one a stub.
    pub(crate) async fn on_any(site: &Path) -> Self {
        match RemoteServer::given(site) {
            Some(server) => Self { server, stub: None },
            None => Self::on_stub(site).await,
        }
    }

    /// The driver block of the site.
    pub(crate) fn driver(&self) -> String {
        self.server.driver("")
    }

    /// State of a task.
    pub(crate) async fn state(&self, task: &str) -> Result<Vec<u8>, String> {
        let RemoteServer { access, prefix } = &self.server;
        let api = access.connect().await?;
        let organization = &access.organization;
        let path = format!("organizations/{organization}/workspaces/{prefix}{task}");
        let workspace = api.get(&path).await?;
        let id = workspace["data"]["id"].as_str().unwrap_or_default();
        let path = format!("workspaces/{id}/current-state-version");
        let version = api.get(&path).await?;
        let url = version["data"]["attributes"]["hosted-state-download-url"].as_str();
        let url = url.ok_or_else(|| format!("no state: {version}"))?;
        api.content(url).await
    }
}

impl Drop for Workspaces {
    fn drop(&mut self) {
        if self.stub.is_some() {
            return;
        }
        let server = self.server.clone();
        // The runtime of the test cannot be waited for here.
        let removal = std::thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().unwrap();
            runtime.block_on(remove_all(&server))
        });
        if let Err(error) = removal.join().unwrap() {
            let prefix = &self.server.prefix;
            // A test that fails already would abort.
            assert!(
                std::thread::panicking(),
                "workspaces {prefix}* are left on the server: {error}"
            );
        }
    }
}

/// Deletes the workspaces of the site.
async fn remove_all(server: &RemoteServer) -> Result<(), String> {
    let RemoteServer { access, prefix } = server;
    let api = access.connect().await?;
    let organization = &access.organization;
    let path = format!("organizations/{organization}/workspaces?search[name]={prefix}");
    let found = api.get(&path).await?;
    for workspace in found["data"].as_array().into_iter().flatten() {
        let name = workspace["attributes"]["name"].as_str().unwrap_or_default();
        let id = workspace["id"].as_str().unwrap_or_default();
        if name.starts_with(prefix) {
            api.delete(&format!("workspaces/{id}")).await?;
        }
    }
    Ok(())
}
