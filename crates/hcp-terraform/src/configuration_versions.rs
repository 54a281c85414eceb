//! Configuration versions: uploaded root modules.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use crate::document::{Resource, document};
use crate::error::ApiError;
use crate::server::Server;
use crate::signed_url::SignedUrl;
use crate::text_enum::text_enum;

text_enum! {
    /// Status of a configuration version. Runs need one that is uploaded.
    ConfigurationVersionStatus {
        Pending = "pending",
        Fetching = "fetching",
        Uploaded = "uploaded",
        Archived = "archived",
        Errored = "errored",
        BackingDataSoftDeleted = "backing_data_soft_deleted",
        BackingDataPermanentlyDeleted = "backing_data_permanently_deleted",
    }
}

/// A configuration version.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Resource<Attributes>")]
pub struct ConfigurationVersion {
    /// Id, `cv-…`.
    pub id: String,
    /// Status.
    pub status: ConfigurationVersionStatus,
    /// Kind of an error of the server with it.
    pub error: Option<String>,
    /// Message of that error.
    pub error_message: Option<String>,
    /// Whether only runs that plan may use it.
    pub is_speculative: bool,
    /// Program or service that it came from.
    pub source: Option<String>,
    /// Place for the archive; only in the answer to its creation.
    pub upload_url: Option<SignedUrl>,
}

/// A configuration version to create.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewConfigurationVersion {
    /// Whether only runs that plan may use it.
    pub is_speculative: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Attributes {
    status: ConfigurationVersionStatus,
    error: Option<String>,
    error_message: Option<String>,
    speculative: Option<bool>,
    source: Option<String>,
    upload_url: Option<SignedUrl>,
}

impl From<Resource<Attributes>> for ConfigurationVersion {
    fn from(resource: Resource<Attributes>) -> Self {
        let version = resource.attributes;
        Self {
            id: resource.id,
            status: version.status,
            error: version.error,
            error_message: version.error_message,
            is_speculative: version.speculative.unwrap_or_default(),
            source: version.source,
            upload_url: version.upload_url,
        }
    }
}

impl Server {
    /// Creates a configuration version, whose upload starts no run. One more of an unknown outcome does no harm.
    pub async fn create_configuration_version(
        &self,
        workspace_id: &str,
        version: NewConfigurationVersion,
    ) -> Result<ConfigurationVersion, ApiError> {
        let attributes = json!({
            // The server's default would start a run with the upload.
            "auto-queue-runs": false,
            "speculative": version.is_speculative,
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

    /// Lists the newest configuration versions of a workspace, newest first, at most 100.
    pub async fn newest_configuration_versions(
        &self,
        workspace_id: &str,
        count: u32,
    ) -> Result<Vec<ConfigurationVersion>, ApiError> {
        let path = ["workspaces", workspace_id, "configuration-versions"];
        let (versions, _next) = self.page(&path, &[], 1, count).await?;
        Ok(versions)
    }
}
