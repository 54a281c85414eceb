//! Secrets by their paths.

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::client::Vault;
use crate::error::VaultError;

/// Mount point of a secrets engine that is a versioned key-value store.
struct Mount {
    /// Path with a slash at its end.
    path: String,
}

impl Vault {
    /// Returns the secret at `path`, as templates name it: an object with `Data`, `LeaseID`, `LeaseDuration`
    /// and `Renewable`; `None` if nothing is there, or if it was deleted. `data/` is put into the path of a
    /// versioned key-value store.
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

    /// Returns the names below `path`; `None` if nothing is there.
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

    /// Returns the path with the part that a versioned store requires, unless the path has it. The parameters
    /// of the path stay.
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

    /// Asks Vault for the mount of a path; a token that may read the path's secrets may ask this. Without an
    /// answer, which older versions or an agent may not give, the path is taken as it is.
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
