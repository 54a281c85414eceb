//! How a server behaves from its start to its end.

use std::path::PathBuf;

use crate::terraform_path;

/// Name of the only organization.
pub(super) const ORGANIZATION: &str = "acme";

/// Path of the API, with a slash at both ends. Clients find it by discovery.
pub(super) const BASE_PATH: &str = "/remote/api/v2/";

/// Settings of an [`HcpServer`](super::HcpServer).
#[derive(Debug, Clone)]
pub struct HcpSettings {
    /// The Terraform that plans and applies. Without one, each plan adds one resource that is made up.
    pub terraform: Option<PathBuf>,
    /// Exact versions of Terraform that a workspace can have.
    pub terraform_versions: Vec<String>,
}

impl HcpSettings {
    /// The default settings, with the real Terraform.
    pub fn with_terraform() -> Self {
        Self {
            terraform: Some(terraform_path()),
            ..Self::default()
        }
    }
}

impl Default for HcpSettings {
    fn default() -> Self {
        Self {
            terraform: None,
            terraform_versions: ["1.10.5", "1.13.5", "1.14.3"].map(str::to_owned).to_vec(),
        }
    }
}
