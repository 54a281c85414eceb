//! Organizations.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::document::Resource;
use crate::error::ApiError;
use crate::server::Server;

/// Features that an organization may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Resource<BTreeMap<String, Value>>")]
pub struct Entitlements {
    features: BTreeMap<String, bool>,
}

impl From<Resource<BTreeMap<String, Value>>> for Entitlements {
    fn from(resource: Resource<BTreeMap<String, Value>>) -> Self {
        let features = resource.attributes.into_iter();
        Self {
            features: features
                .filter_map(|(name, value)| Some((name, value.as_bool()?)))
                .collect(),
        }
    }
}

impl Entitlements {
    /// Whether the organization may use a feature, such as `operations` or `agents`; `None` if the server
    /// does not say.
    pub fn has(&self, feature: &str) -> Option<bool> {
        self.features.get(feature).copied()
    }
}

impl Server {
    /// Reads the features of an organization. [`ApiError::NotFound`] if it does not exist, or is not visible
    /// with this token.
    pub async fn entitlements(&self, organization: &str) -> Result<Entitlements, ApiError> {
        self.get(&["organizations", organization, "entitlement-set"])
            .await
    }
}
