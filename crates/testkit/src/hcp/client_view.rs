//! Servers as their clients see them: a stub, or a real server that is given to the test run (CONTRIBUTING.md).

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Certificate, Client, Method, RequestBuilder, Url};
use serde_json::Value;

use super::{HcpServer, HcpSettings, settings};
use crate::Authority;

/// Host of a real server, with its port.
const ADDRESS: &str = "CTS_TEST_HCP_ADDRESS";
/// Token of a team that may manage all workspaces.
const TOKEN: &str = "CTS_TEST_HCP_TOKEN";
/// Name of the organization.
const ORGANIZATION: &str = "CTS_TEST_HCP_ORGANIZATION";
/// Path of the authority of the server's certificate; without it those of the system count.
const AUTHORITY: &str = "CTS_TEST_HCP_CA";

/// The certificate of a stub's authority in its directory.
const STUB_AUTHORITY: &str = "ca.pem";

/// A second name in the certificate of a stub, which no resolver knows.
pub const STUB_NAME: &str = "tfe.test";

/// Time for one answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A server with everything that a client has to know.
#[derive(Debug, Clone)]
pub struct HcpAccess {
    /// Host and port, with or without a scheme.
    pub address: String,
    /// Name of the organization.
    pub organization: String,
    /// Token of a team.
    pub token: String,
    /// File of the authority of the server's certificate.
    pub authority: Option<PathBuf>,
}

impl HcpAccess {
    /// A stub that [`HcpServer::start_in`] has started in this directory, with its current token.
    pub fn of_stub(stub: &HcpServer, directory: &Path) -> Self {
        Self {
            address: stub.address(),
            organization: settings::ORGANIZATION.to_owned(),
            token: stub.token(),
            authority: Some(directory.join(STUB_AUTHORITY)),
        }
    }

    /// The driver block of a configuration; `more` is further content of it.
    pub fn driver(&self, prefix: &str, more: &str) -> String {
        let Self {
            address,
            organization,
            token,
            authority,
        } = self;
        let authority = authority.as_deref();
        let tls = authority.map_or_else(String::new, |path| {
            format!("tls {{ ca_cert = \"{}\" }}", path.display())
        });
        format!(
            "driver \"terraform-cloud\" {{\n  hostname = \"{address}\"\n  organization = \"{organization}\"\n  \
             token = \"{token}\"\n  workspaces {{ prefix = \"{prefix}\" }}\n  {tls}\n  {more}\n}}"
        )
    }

    /// The real server of this test run, if it has one.
    pub fn given() -> Option<Self> {
        let variable = |name: &str| {
            let value = std::env::var_os(name)?.into_string().ok()?;
            (!value.is_empty()).then_some(value)
        };
        let needed = |name: &str| {
            variable(name).unwrap_or_else(|| panic!("{ADDRESS} is set, so set {name} as well"))
        };
        Some(Self {
            address: variable(ADDRESS)?,
            organization: needed(ORGANIZATION),
            token: needed(TOKEN),
            authority: variable(AUTHORITY).map(PathBuf::from),
        })
    }

    /// The variables that give this server to a test run.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let authority = self.authority.as_deref().unwrap_or(Path::new(""));
        vec![
            (ADDRESS, self.address.clone()),
            (ORGANIZATION, self.organization.clone()),
            (TOKEN, self.token.clone()),
            (AUTHORITY, authority.display().to_string()),
        ]
    }

    /// Reads where the API is. An error is a text for people.
    pub async fn connect(&self) -> Result<HcpApi, String> {
        let mut builder = Client::builder().no_proxy().timeout(TIMEOUT);
        if let Some(authority) = &self.authority {
            let pem = std::fs::read(authority).map_err(text)?;
            builder = builder.add_root_certificate(Certificate::from_pem(&pem).map_err(text)?);
        }
        let host = if self.address.contains("://") {
            self.address.clone()
        } else {
            format!("https://{}", self.address)
        };
        let mut api = HcpApi {
            client: builder.build().map_err(text)?,
            token: self.token.clone(),
            base: host.parse().map_err(text)?,
        };
        let services = api.get(".well-known/terraform.json").await?;
        let path = services["tfe.v2"].as_str().unwrap_or_default();
        api.base = api.base.join(path).map_err(text)?;
        Ok(api)
    }
}

impl HcpServer {
    /// Starts a server with TLS on all its ports, and writes the certificate of its authority into a directory.
    pub async fn start_in(directory: &Path, settings: HcpSettings) -> Self {
        let authority = Authority::new();
        let pair = authority.write_pair(directory, "server", &["127.0.0.1", STUB_NAME]);
        let written = std::fs::write(directory.join(STUB_AUTHORITY), authority.pem());
        written.expect("the directory is writable");
        Self::serve(settings, Some(pair.acceptor(None))).await
    }
}

/// The API of a server, for a client that has nothing of cts.
#[derive(Debug, Clone)]
pub struct HcpApi {
    client: Client,
    token: String,
    base: Url,
}

impl HcpApi {
    /// A request with the token. `path` has no slash at its beginning.
    pub fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, String> {
        let url = self.base.join(path).map_err(text)?;
        Ok(self.client.request(method, url).bearer_auth(&self.token))
    }

    /// Reads a document.
    pub async fn get(&self, path: &str) -> Result<Value, String> {
        serde_json::from_slice(&self.read(path).await?).map_err(text)
    }

    /// Content of a signed address, which gets no token unless it refuses that.
    pub async fn content(&self, address: &str) -> Result<Vec<u8>, String> {
        let url: Url = address.parse().map_err(text)?;
        let is_own = url.origin() == self.base.origin();
        let answer = self.client.get(url).send().await.map_err(text)?;
        if answer.status().is_client_error() && is_own {
            return self.read(address).await;
        }
        let answer = answer.error_for_status().map_err(text)?;
        Ok(answer.bytes().await.map_err(text)?.to_vec())
    }

    async fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let answer = self.request(Method::GET, path)?.send().await;
        let answer = answer.and_then(reqwest::Response::error_for_status);
        let content = answer.map_err(text)?.bytes().await;
        Ok(content.map_err(text)?.to_vec())
    }

    /// Deletes an object.
    pub async fn delete(&self, path: &str) -> Result<(), String> {
        let answer = self.request(Method::DELETE, path)?.send().await;
        let answer = answer.and_then(reqwest::Response::error_for_status);
        answer.map(drop).map_err(text)
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
