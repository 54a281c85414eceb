//! TLS between the services, with authentication or without (docs/access.md).

use std::fs;
use std::path::{Path, PathBuf};

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

/// Files of a site with TLS.
#[derive(Debug)]
pub(crate) struct Certificates {
    /// The authority that has signed.
    pub(crate) authority: PathBuf,
    /// The certificate with all roles, and its key.
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
    /// The certificate of a person who may read.
    pub(crate) weakest: IdentityFiles,
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
        authority.write_pair(&directory, "read", &["read.cts.internal"]);
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

    /// The certificates of a site with TLS.
    pub(crate) fn certificates(site: &Path) -> Certificates {
        let directory = site.join(DIRECTORY);
        Certificates {
            authority: directory.join("ca.pem"),
            cert: directory.join("all.pem"),
            key: directory.join("all-key.pem"),
            weakest: IdentityFiles {
                cert: directory.join("read.pem"),
                key: directory.join("read-key.pem"),
            },
        }
    }

    /// A channel to the services of a site.
    pub(crate) async fn connect(self, site: &Path, address: &str) -> Result<Channel> {
        if self == Self::Open {
            return Ok(cts_rpc::connect(address)?);
        }
        let Certificates {
            authority,
            cert,
            key,
            weakest: _,
        } = Self::certificates(site);
        let files = ClientTlsFiles {
            ca_cert: authority,
            identity: Some(IdentityFiles { cert, key }),
            server_name: None,
        };
        let tls = ClientTls::load(files).await?;
        let address: Address = address.parse()?;
        Ok(cts_rpc::connect_tls(&address, &tls))
    }
}
