//! Servers that run the tasks of a site.

use std::path::Path;

use cts_testkit::HcpServer;
use cts_testkit::hcp::{HcpAccess, HcpSettings};

/// A server, and the beginning of the names of workspaces.
#[derive(Debug, Clone)]
pub struct RemoteServer {
    /// The server.
    pub access: HcpAccess,
    /// `prefix` of the driver block.
    pub prefix: String,
}

impl RemoteServer {
    /// A stub that [`start_stub`] has started for this site.
    pub fn of_stub(stub: &HcpServer, site: &Path) -> Self {
        Self {
            access: HcpAccess::of_stub(stub, site),
            prefix: "cts-".to_owned(),
        }
    }

    /// The real server of this test run, if there is one. The prefix is unique to the site.
    pub(crate) fn given(site: &Path) -> Option<Self> {
        let unique = site.file_name().unwrap().to_string_lossy();
        let unique: String = unique.chars().filter(char::is_ascii_alphanumeric).collect();
        Some(Self {
            access: HcpAccess::given()?,
            prefix: format!("cts-test-{unique}-"),
        })
    }

    /// The driver block; `more` is further content of it.
    pub fn driver(&self, more: &str) -> String {
        self.access.driver(&self.prefix, more)
    }
}

/// Starts a stub with TLS that runs the real Terraform, for a site with this path.
pub async fn start_stub(site: &Path, change: impl FnOnce(&mut HcpSettings)) -> HcpServer {
    let mut settings = HcpSettings::with_terraform();
    change(&mut settings);
    HcpServer::start_in(site, settings).await
}
