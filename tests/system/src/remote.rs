//! Servers that run the tasks of a site.

use std::path::Path;

use cts_testkit::hcp::{HcpAccess, HcpSettings};
use cts_testkit::{Authority, HcpServer, terraform_path};

/// The certificate of the stub's authority in a site.
const STUB_AUTHORITY: &str = "ca.pem";

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
            access: HcpAccess::of_stub(stub, &site.join(STUB_AUTHORITY)),
            prefix: "cts-".to_owned(),
        }
    }

    /// The real server of this test run, if it has one, with a prefix that nobody else uses.
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
        let HcpAccess {
            address,
            organization,
            token,
            authority,
        } = &self.access;
        let authority = authority.as_deref();
        let tls = authority.map_or_else(String::new, |path| {
            format!("tls {{ ca_cert = \"{}\" }}", path.display())
        });
        format!(
            "driver \"terraform-cloud\" {{\n  hostname = \"{address}\"\n  organization = \"{organization}\"\n  \
             token = \"{token}\"\n  workspaces {{ prefix = \"{}\" }}\n  {tls}\n  {more}\n}}",
            self.prefix
        )
    }
}

/// Starts a stub with TLS that runs the real Terraform, for a site with this path.
pub async fn start_stub(site: &Path, change: impl FnOnce(&mut HcpSettings)) -> HcpServer {
    let authority = Authority::new();
    let pair = authority.write_pair(site, "server", &["127.0.0.1"]);
    std::fs::write(site.join(STUB_AUTHORITY), authority.pem()).unwrap();
    let mut settings = HcpSettings {
        terraform: Some(terraform_path()),
        environment: vec![("CHECKPOINT_DISABLE".into(), "1".into())],
        ..HcpSettings::default()
    };
    change(&mut settings);
    HcpServer::start_tls(settings, pair.acceptor(None)).await
}
