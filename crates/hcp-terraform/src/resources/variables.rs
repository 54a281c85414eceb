//! Variables of a workspace.

use reqwest::Method;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::document::{Resource, document, or_default};
use crate::error::ApiError;
use crate::resources::run_variable::exposed;
use crate::server::Server;

/// Most bytes of a value (256 kB).
pub const LONGEST_VALUE: usize = 256_000;

/// Receiver of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VariableCategory {
    /// The root module.
    Terraform,
    /// The environment of Terraform. Such a value cannot be HCL.
    Env,
    /// Any other category, which is only read.
    #[serde(other)]
    Other,
}

/// A variable of a workspace.
pub type Variable = Resource<VariableAttributes>;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct VariableAttributes {
    /// Name.
    pub key: String,
    /// Value; `None` or empty if the variable is sensitive.
    pub value: Option<String>,
    /// Receiver.
    pub category: VariableCategory,
    /// Whether the value is HCL instead of a string.
    #[serde(rename = "hcl", default, deserialize_with = "or_default")]
    pub is_hcl: bool,
    /// Whether the value can be written only.
    #[serde(rename = "sensitive", default, deserialize_with = "or_default")]
    pub is_sensitive: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    /// Changes with every change of the variable; not every server has it.
    pub version_id: Option<String>,
}

/// A variable to create, or new content for one.
#[derive(Debug, Clone, Serialize)]
pub struct VariableDraft<'a> {
    /// Name. The key of a sensitive variable cannot change.
    pub key: &'a str,
    #[serde(serialize_with = "exposed")]
    pub value: SecretString,
    /// Receiver.
    pub category: VariableCategory,
    /// Whether the value is HCL. Cannot change for a sensitive variable.
    #[serde(rename = "hcl")]
    pub is_hcl: bool,
    /// Whether the value can be written only. A sensitive variable cannot become plain.
    #[serde(rename = "sensitive")]
    pub is_sensitive: bool,
    pub description: &'a str,
}

impl Server {
    /// Lists the variables of a workspace, without those of variable sets.
    pub async fn variables(&self, workspace_id: &str) -> Result<Vec<Variable>, ApiError> {
        self.list(&["workspaces", workspace_id, "vars"], &[]).await
    }

    /// Creates a variable. After [`ApiError::OutcomeUnknown`] the list shows whether it exists; a second
    /// one of the same key is [`ApiError::Invalid`].
    pub async fn create_variable(
        &self,
        workspace_id: &str,
        variable: &VariableDraft<'_>,
    ) -> Result<Variable, ApiError> {
        let path = ["workspaces", workspace_id, "vars"];
        self.create(&path, &document("vars", variable)).await
    }

    /// Replaces the content of a variable.
    pub async fn update_variable(
        &self,
        workspace_id: &str,
        id: &str,
        variable: &VariableDraft<'_>,
    ) -> Result<Variable, ApiError> {
        let path = ["workspaces", workspace_id, "vars", id];
        let mut document = document("vars", variable);
        document["data"]["id"] = json!(id);
        self.update(&path, &document).await
    }

    /// Deletes a variable. [`ApiError::NotFound`] may mean that an earlier try has deleted it.
    pub async fn delete_variable(&self, workspace_id: &str, id: &str) -> Result<(), ApiError> {
        let path = ["workspaces", workspace_id, "vars", id];
        self.order(self.request(Method::DELETE, &path)?).await
    }
}
