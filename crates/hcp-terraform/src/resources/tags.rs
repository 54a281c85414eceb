//! Flat tags of a workspace. Tags with keys and values are separate, and are left alone.

use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::document::Resource;
use crate::error::ApiError;
use crate::server::Server;

#[derive(Deserialize)]
struct Attributes {
    name: String,
}

/// Tags by their names, which the server creates if they do not exist.
pub(crate) fn named_tags<T: AsRef<str>>(tags: &[T]) -> Value {
    let tags = tags.iter();
    let tags: Vec<_> = tags
        .map(|name| json!({ "type": "tags", "attributes": { "name": name.as_ref() } }))
        .collect();
    json!({ "data": tags })
}

impl Server {
    /// Lists the names of a workspace's tags.
    pub async fn tags(&self, workspace_id: &str) -> Result<Vec<String>, ApiError> {
        let path = ["workspaces", workspace_id, "relationships", "tags"];
        let tags: Vec<Resource<Attributes>> = self.list(&path, &[]).await?;
        Ok(tags.into_iter().map(|tag| tag.attributes.name).collect())
    }

    /// Adds tags; those that are there stay.
    pub async fn add_tags(&self, workspace_id: &str, tags: &[&str]) -> Result<(), ApiError> {
        self.change_tags(Method::POST, workspace_id, tags).await
    }

    /// Removes tags, as far as they are there.
    pub async fn remove_tags(&self, workspace_id: &str, tags: &[&str]) -> Result<(), ApiError> {
        self.change_tags(Method::DELETE, workspace_id, tags).await
    }

    async fn change_tags(
        &self,
        method: Method,
        workspace_id: &str,
        tags: &[&str],
    ) -> Result<(), ApiError> {
        let path = ["workspaces", workspace_id, "relationships", "tags"];
        let request = self.request(method, &path)?;
        self.order(request.with(&named_tags(tags)).repeatable())
            .await
    }
}
