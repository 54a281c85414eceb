//! State versions: Terraform states of a workspace.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use md5::{Digest as _, Md5};
use serde::Deserialize;
use serde_json::json;

use crate::document::{Resource, document};
use crate::error::ApiError;
use crate::server::Server;
use crate::signed_url::SignedUrl;

/// Most bytes of a state.
const LONGEST_STATE: usize = 256 << 20;

/// A version of the state of a workspace.
pub type StateVersion = Resource<StateVersionAttributes>;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StateVersionAttributes {
    /// Place of the state, for [`Server::download_state`].
    pub hosted_state_download_url: Option<SignedUrl>,
}

/// A state to store as the newest version of a workspace.
#[derive(Debug, Clone, Copy)]
pub struct NewStateVersion<'a> {
    /// The state, in the format of Terraform.
    pub state: &'a [u8],
    pub serial: u64,
    pub lineage: &'a str,
    /// Whether it replaces a state of another lineage, or a later one.
    pub force: bool,
}

impl Server {
    /// Reads the newest state version of a workspace that exists; `None` if it has no state.
    pub async fn current_state_version(
        &self,
        workspace_id: &str,
    ) -> Result<Option<StateVersion>, ApiError> {
        let path = ["workspaces", workspace_id, "current-state-version"];
        ApiError::missing(self.get(&path).await)
    }

    /// Reads a state. Its content is secret.
    pub async fn download_state(&self, url: &SignedUrl) -> Result<Vec<u8>, ApiError> {
        self.download(url, LONGEST_STATE).await
    }

    /// Stores a state. The token's user must hold the lock of the workspace; another lineage or an older serial is
    /// [`ApiError::Conflict`] or [`ApiError::Invalid`]. After [`ApiError::OutcomeUnknown`] the current state
    /// version shows the outcome.
    pub async fn create_state_version(
        &self,
        workspace_id: &str,
        version: NewStateVersion<'_>,
    ) -> Result<StateVersion, ApiError> {
        let digest = Md5::digest(version.state);
        let attributes = json!({
            "serial": version.serial,
            "lineage": version.lineage,
            "md5": format!("{digest:x}"),
            "state": BASE64_STANDARD.encode(version.state),
            "force": version.force,
        });
        let path = ["workspaces", workspace_id, "state-versions"];
        let mut request = self.request(reqwest::Method::POST, &path)?;
        request.timeout = self.limits().transfer_timeout;
        let body = document("state-versions", attributes);
        self.read(&request.with(&body)).await
    }
}
