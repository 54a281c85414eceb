//! How a server behaves from its start to its end.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::terraform_path;

/// The products whose answers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// HCP Terraform and Terraform Enterprise.
    Hcp,
    /// An open server with a part of the API: 403 instead of 404 for missing rights, 500 for some refused actions, fewer
    /// statuses, no rate limit.
    Otf,
}

/// Settings of an [`HcpServer`](super::HcpServer).
#[derive(Debug, Clone)]
pub struct HcpSettings {
    /// The product.
    pub flavour: Flavour,
    /// Name of the only organization.
    pub organization: String,
    /// Path of the API, with a slash at both ends. Clients find it by discovery.
    pub base_path: String,
    /// The Terraform that plans and applies. Without one, plans and applies are made up
    /// ([`HcpServer::set_outcome`](super::HcpServer::set_outcome)).
    pub terraform: Option<PathBuf>,
    /// Environment of that Terraform, such as `TF_CLI_CONFIG_FILE`, besides `PATH` and the workspace's variables.
    pub environment: Vec<(OsString, OsString)>,
    /// Uploads, logs and states have a port of their own.
    pub separate_archive: bool,
    /// The address of a state belongs to the API, needs the token and redirects to a signed address.
    pub redirects_to_states: bool,
    /// `terraform show -json` runs after each plan, so that its JSON can be read.
    pub json_plans: bool,
    /// Logs have the escape sequences of colours.
    pub coloured_logs: bool,
    /// The organization may use agents.
    pub agents: bool,
    /// Exact versions of Terraform that a workspace can have.
    pub terraform_versions: Vec<String>,
    /// Most bytes of a variable's value.
    pub value_limit: usize,
    /// Most bytes of an uploaded configuration.
    pub upload_limit: usize,
    /// Time between cancel and the permission to force it.
    pub force_cancel_after: Duration,
}

impl HcpSettings {
    /// The default settings, with the real Terraform.
    pub fn with_terraform() -> Self {
        Self {
            terraform: Some(terraform_path()),
            environment: vec![("CHECKPOINT_DISABLE".into(), "1".into())],
            ..Self::default()
        }
    }
}

impl Default for HcpSettings {
    fn default() -> Self {
        Self {
            flavour: Flavour::Hcp,
            organization: "acme".to_owned(),
            base_path: "/remote/api/v2/".to_owned(),
            terraform: None,
            environment: Vec::new(),
            separate_archive: true,
            redirects_to_states: false,
            json_plans: false,
            coloured_logs: false,
            agents: true,
            terraform_versions: ["1.10.5", "1.13.5", "1.14.3"].map(str::to_owned).to_vec(),
            value_limit: 256 << 10,
            upload_limit: 10 << 20,
            force_cancel_after: Duration::from_secs(1),
        }
    }
}
