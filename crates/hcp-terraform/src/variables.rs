//! Variables of a workspace.

use reqwest::Method;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::document::{Resource, document};
use crate::error::ApiError;
use crate::server::Server;

/// Most characters of a key.
pub const LONGEST_KEY: usize = 128;

/// Most bytes of a value (256 kB).
pub const LONGEST_VALUE: usize = 256_000;

/// Most characters of a description.
pub const LONGEST_DESCRIPTION: usize = 512;

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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Resource<Attributes>")]
pub struct Variable {
    /// Id, `var-…`.
    pub id: String,
    /// Name.
    pub key: String,
    /// Value; `None` or empty if the variable is sensitive.
    pub value: Option<String>,
    /// Receiver.
    pub category: VariableCategory,
    /// Whether the value is HCL instead of a string.
    pub is_hcl: bool,
    /// Whether the value can be written only.
    pub is_sensitive: bool,
    /// Description.
    pub description: String,
    /// Changes with every change of the variable; not every server has it.
    pub version_id: Option<String>,
}

/// A variable to create, or new content for one.
#[derive(Debug, Clone)]
pub struct VariableDraft<'a> {
    /// Name. The key of a sensitive variable cannot change.
    pub key: &'a str,
    /// Value.
    pub value: SecretString,
    /// Receiver.
    pub category: VariableCategory,
    /// Whether the value is HCL. Cannot change for a sensitive variable.
    pub is_hcl: bool,
    /// Whether the value can be written only. A sensitive variable cannot become plain.
    pub is_sensitive: bool,
    /// Description.
    pub description: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Attributes {
    key: String,
    value: Option<String>,
    category: VariableCategory,
    hcl: Option<bool>,
    sensitive: Option<bool>,
    description: Option<String>,
    version_id: Option<String>,
}

impl From<Resource<Attributes>> for Variable {
    fn from(resource: Resource<Attributes>) -> Self {
        let variable = resource.attributes;
        Self {
            id: resource.id,
            key: variable.key,
            value: variable.value,
            category: variable.category,
            is_hcl: variable.hcl.unwrap_or_default(),
            is_sensitive: variable.sensitive.unwrap_or_default(),
            description: variable.description.unwrap_or_default(),
            version_id: variable.version_id,
        }
    }
}

impl VariableDraft<'_> {
    fn document(&self, id: Option<&str>) -> Value {
        let attributes = json!({
            "key": self.key,
            "value": self.value.expose_secret(),
            "category": self.category,
            "hcl": self.is_hcl,
            "sensitive": self.is_sensitive,
            "description": self.description,
        });
        let mut document = document("vars", attributes);
        if let Some(id) = id {
            document["data"]["id"] = json!(id);
        }
        document
    }
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
        self.create(&path, &variable.document(None)).await
    }

    /// Replaces the content of a variable.
    pub async fn update_variable(
        &self,
        workspace_id: &str,
        id: &str,
        variable: &VariableDraft<'_>,
    ) -> Result<Variable, ApiError> {
        let path = ["workspaces", workspace_id, "vars", id];
        self.update(&path, &variable.document(Some(id))).await
    }

    /// Deletes a variable. [`ApiError::NotFound`] may mean that an earlier try has deleted it.
    pub async fn delete_variable(&self, workspace_id: &str, id: &str) -> Result<(), ApiError> {
        let path = ["workspaces", workspace_id, "vars", id];
        self.order(self.request(Method::DELETE, &path)?).await
    }
}
