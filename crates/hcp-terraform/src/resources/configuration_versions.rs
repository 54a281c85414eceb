//! Configuration versions: uploaded root modules.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use crate::document::{Resource, document, or_default};
use crate::error::ApiError;
use crate::server::Server;
use crate::signed_url::SignedUrl;
use crate::word::Word;

pub type ConfigurationVersion = Resource<ConfigurationVersionAttributes>;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConfigurationVersionAttributes {
    /// Status. Runs need a configuration version that is `uploaded`.
    pub status: Word,
    /// Kind of an error of the server with it.
    pub error: Option<String>,
    pub error_message: Option<String>,
    /// Whether only runs that plan may use it.
    #[serde(default, deserialize_with = "or_default")]
    pub speculative: bool,
    /// Place for the archive; only in the answer to its creation.
    pub upload_url: Option<SignedUrl>,
}

impl Server {
    /// Creates a configuration version, whose upload starts no run. One more of an unknown outcome does no harm. Only
    /// runs that plan may use a speculative one.
    pub async fn create_configuration_version(
        &self,
        workspace_id: &str,
        is_speculative: bool,
    ) -> Result<ConfigurationVersion, ApiError> {
        let attributes = json!({
            // The server's default would start a run with the upload.
            "auto-queue-runs": false,
            "speculative": is_speculative,
        });
        let path = ["workspaces", workspace_id, "configuration-versions"];
        let body = document("configuration-versions", attributes);
        self.create(&path, &body).await
    }

    /// Uploads a gzip tar archive, with the root module at its root. Runs can use the configuration version
    /// as soon as its status is `uploaded`.
    pub async fn upload_configuration(
        &self,
        url: &SignedUrl,
        archive: Bytes,
    ) -> Result<(), ApiError> {
        self.upload(url, archive).await
    }

    /// Reads a configuration version.
    pub async fn configuration_version(&self, id: &str) -> Result<ConfigurationVersion, ApiError> {
        self.get(&["configuration-versions", id]).await
    }
}
