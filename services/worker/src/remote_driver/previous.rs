//! A state that comes back from a workspace to a backend: `previous_backend "terraform-cloud"`
//! (docs/hcp-terraform.md#states).

use cts_core::{Backend, DEFAULT_REMOTE_HOSTNAME, TaskName};
use cts_tls::{Authorities, ClientFiles, IdentityFiles};
use secrecy::SecretString;
use serde_json::{Map, Value};

use super::RemoteDriver;
use super::error::RemoteError;
use super::push::read_state;
use super::rules::WorkspaceSettings;
use super::settings::RemoteSettings;
use crate::values::ValueSources;

/// The text of the state of a task in its workspace; `None` if there is no workspace or no state.
pub(crate) async fn state_of_workspace(
    backend: &Backend,
    task: &TaskName,
    values: &ValueSources,
) -> Result<Option<Vec<u8>>, RemoteError> {
    let settings = settings(&backend.arguments);
    let name = settings.workspaces.name_of(task.as_str());
    let organization = settings.organization.clone();
    let driver = RemoteDriver::new(settings, None)?;
    let server = driver.server(values).await?;
    let Some(workspace) = server.workspace_named(&organization, &name).await? else {
        return Ok(None);
    };
    let found = read_state(&server, &workspace.id).await?;
    Ok(found.map(|(_found, text)| text))
}

/// The block has the keys of the driver.
fn settings(arguments: &Map<String, Value>) -> RemoteSettings {
    let (workspaces, tls) = (block(arguments, "workspaces"), block(arguments, "tls"));
    let text = |block: Option<&Map<String, Value>>, key: &str| {
        let text = block.and_then(|block| block.get(key)?.as_str());
        text.unwrap_or_default().to_owned()
    };
    let path = |key| Some(text(tls, key)).filter(|path| !path.is_empty());
    let hostname = text(Some(arguments), "hostname");
    RemoteSettings {
        hostname: match hostname.as_str() {
            "" => DEFAULT_REMOTE_HOSTNAME.to_owned(),
            _ => hostname,
        },
        organization: text(Some(arguments), "organization"),
        token: SecretString::from(text(Some(arguments), "token")),
        workspaces: WorkspaceSettings {
            prefix: text(workspaces, "prefix"),
            ..WorkspaceSettings::default()
        },
        tls: ClientFiles {
            authorities: Authorities::of(
                path("ca_cert").as_deref().map(AsRef::as_ref),
                path("ca_path").as_deref().map(AsRef::as_ref),
            ),
            identity: IdentityFiles::of(
                path("cert").as_deref().map(AsRef::as_ref),
                path("key").as_deref().map(AsRef::as_ref),
            ),
            verify: tls
                .and_then(|tls| tls.get("verify")?.as_bool())
                .unwrap_or(true),
        },
        server_name: path("server_name"),
    }
}

/// A nested block, which may stand in a list.
fn block<'a>(arguments: &'a Map<String, Value>, key: &str) -> Option<&'a Map<String, Value>> {
    match arguments.get(key)? {
        Value::Array(blocks) => blocks.first()?.as_object(),
        other => other.as_object(),
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_block_has_the_keys_of_the_driver() {
        let written = json!({
            "organization": "o", "token": "t",
            "workspaces": [{ "prefix": "cts-" }],
            "tls": { "ca_cert": "/ca.pem", "verify": false },
        });
        let settings = settings(written.as_object().unwrap());
        assert_eq!(settings.hostname, DEFAULT_REMOTE_HOSTNAME);
        assert_eq!(settings.organization, "o");
        assert_eq!(settings.token.expose_secret(), "t");
        assert_eq!(settings.workspaces.name_of("edge"), "cts-edge");
        assert!(!settings.tls.verify);
    }
}
