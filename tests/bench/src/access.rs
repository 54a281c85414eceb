//! TLS between the services, with authentication or without (docs/access.md).

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use cts_rpc::{Address, ClientTls, ClientTlsFiles};
use cts_testkit::Authority;
use cts_tls::IdentityFiles;
use tonic::transport::Channel;

/// Directory of the certificates, below the site.
const DIRECTORY: &str = "certificates";

/// Names in the one certificate of all services, which has all roles.
const NAMES: [&str; 7] = [
    "watcher.cts.internal",
    "scheduler.cts.internal",
    "worker.cts.internal",
    "gateway.cts.internal",
    "operator.cts.internal",
    "localhost",
    "127.0.0.1",
];

/// How cts is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Access {
    /// Plain text between the services, and no authentication.
    #[default]
    Open,
    /// TLS between the services, and no authentication.
    Tls,
    /// TLS between the services, which have roles, and the API demands a token.
    Auth,
}

impl Access {
    /// Makes certificates and changes the configuration of a site, before cts starts.
    pub(crate) fn set_up(self, site: &Path, configuration: &str) -> Result<()> {
        if self == Self::Open {
            return Ok(());
        }
        let directory = site.join(DIRECTORY);
        fs::create_dir_all(&directory)?;
        let authority = Authority::new();
        fs::write(directory.join("ca.pem"), authority.pem())?;
        authority.write_pair(&directory, "all", &NAMES);
        let path = site.join(configuration);
        let text = fs::read_to_string(&path)?;
        let tls = format!(
            "services {{\n  tls {{\n    ca_cert = \"{DIRECTORY}/ca.pem\"\n    cert = \"{DIRECTORY}/all.pem\"\n    key = \"{DIRECTORY}/all-key.pem\"\n  }}\n"
        );
        let mut text = if text.contains("services {\n") && text.contains("schedulers = ") {
            text.replacen("services {\n", &tls, 1)
        } else {
            format!("{text}\n{tls}}}\n")
        };
        if self == Self::Auth {
            text.push_str("\nsecurity {\n  require_auth  = true\n  service_roles = true\n}\n");
        }
        fs::write(&path, text).context("cannot change the configuration")
    }

    /// A channel to the services of a site.
    pub(crate) async fn connect(self, site: &Path, address: &str) -> Result<Channel> {
        if self == Self::Open {
            return Ok(cts_rpc::connect(address)?);
        }
        let directory = site.join(DIRECTORY);
        let files = ClientTlsFiles {
            ca_cert: directory.join("ca.pem"),
            identity: Some(IdentityFiles {
                cert: directory.join("all.pem"),
                key: directory.join("all-key.pem"),
            }),
            server_name: None,
        };
        let tls = ClientTls::load(files).await?;
        let address: Address = address.parse()?;
        Ok(cts_rpc::connect_tls(&address, &tls))
    }
}
