//! Secrets by their paths.

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::client::Vault;
use crate::error::VaultError;

/// Where a secrets engine is mounted, if it is a versioned key-value store.
struct Mount {
    /// With a slash at its end.
    path: String,
}

impl Vault {
    /// What is at `path`, as templates name it: an object with `Data`, `LeaseID`, `LeaseDuration` and `Renewable`; `None` if
    /// nothing is there, or what was there is deleted. `data/` is put into the path of a versioned key-value store.
    pub async fn read(&self, path: &str) -> Result<Option<Value>, VaultError> {
        let path = self.path_in_store(path, "data/").await?;
        let answer = match self.ask(Method::GET, &path).await {
            Err(error) if error.is_missing() => return Ok(None),
            answer => answer?,
        };
        let data = answer.get("data").filter(|data| !data.is_null());
        // A deleted version has its metadata still.
        let is_deleted = data.is_some_and(|data| {
            data.get("metadata").is_some() && data.get("data").is_some_and(Value::is_null)
        });
        let of = |name: &str| answer.get(name).cloned().unwrap_or_default();
        Ok(data.filter(|_| !is_deleted).map(|data| {
            json!({
                "Data": data,
                "LeaseID": of("lease_id"),
                "LeaseDuration": of("lease_duration"),
                "Renewable": of("renewable"),
            })
        }))
    }

    /// The names below `path`; `None` if there are none.
    pub async fn list(&self, path: &str) -> Result<Option<Vec<String>>, VaultError> {
        let path = self.path_in_store(path, "metadata/").await?;
        let answer = match self.ask(Method::GET, &format!("{path}?list=true")).await {
            Err(error) if error.is_missing() => return Ok(None),
            answer => answer?,
        };
        let keys = answer.pointer("/data/keys").and_then(Value::as_array);
        Ok(keys.map(|keys| {
            let names = keys.iter().filter_map(Value::as_str);
            names.map(str::to_owned).collect()
        }))
    }

    /// The path with what a versioned store wants in it, unless it is there. The parameters of the path stay.
    async fn path_in_store(&self, path: &str, part: &str) -> Result<String, VaultError> {
        let path = path.trim_matches('/');
        let bare = path.split_once('?').map_or(path, |(bare, _)| bare);
        let Some(mount) = self.versioned_mount(bare).await? else {
            return Ok(path.to_owned());
        };
        let Some(rest) = path.strip_prefix(&mount.path) else {
            let is_mount = mount.path.strip_suffix('/') == Some(path);
            let part = if is_mount {
                part.trim_end_matches('/')
            } else {
                ""
            };
            let place = if is_mount { &mount.path } else { path };
            return Ok(format!("{place}{part}"));
        };
        if rest.starts_with(part) || rest.starts_with("metadata/") {
            return Ok(path.to_owned());
        }
        Ok(format!("{}{part}{rest}", mount.path))
    }

    /// Vault says about a path whose secrets a token may read where they are kept. Without an answer, as older ones or an
    /// agent may give none, the path is taken as it is.
    async fn versioned_mount(&self, path: &str) -> Result<Option<Mount>, VaultError> {
        let about = format!("sys/internal/ui/mounts/{path}");
        let answer = match self.ask(Method::GET, &about).await {
            Err(VaultError::Refused { status, .. }) if status < 500 => return Ok(None),
            answer => answer?,
        };
        let data = answer.get("data").and_then(Value::as_object);
        Ok(data.and_then(versioned))
    }
}

fn versioned(data: &Map<String, Value>) -> Option<Mount> {
    let version = data.get("options")?.get("version")?.as_str()?;
    let path = data.get("path")?.as_str()?;
    (version == "2").then(|| Mount {
        path: path.to_owned(),
    })
}
