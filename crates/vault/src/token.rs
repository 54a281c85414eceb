//! The token: given, in a file, wrapped or not.

use std::io;
use std::path::Path;

use reqwest::Method;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::client::Vault;
use crate::error::VaultError;
use crate::unwrapped::Unwrapped;

impl Vault {
    /// The token in force. A wrapped one is unwrapped when it is wanted first, and again when its file has another.
    pub(crate) async fn token(&self) -> Result<SecretString, VaultError> {
        let token = match &self.settings.token_file {
            Some(path) => {
                let token = read(path).await;
                token.map_err(|source| VaultError::TokenFile {
                    path: path.clone(),
                    source,
                })?
            }
            None => self.settings.token.clone().ok_or(VaultError::NoToken)?,
        };
        if self.settings.unwrap_token {
            return self.unwrapped(token).await;
        }
        Ok(token)
    }

    async fn unwrapped(&self, wrapping: SecretString) -> Result<SecretString, VaultError> {
        let mut unwrapped = self.unwrapped.lock().await;
        if let Some(known) = &*unwrapped
            && known.wrapping.expose_secret() == wrapping.expose_secret()
        {
            return Ok(known.token.clone());
        }
        let answer = self.ask_with(&wrapping, Method::POST, "sys/wrapping/unwrap");
        let answer = answer
            .await
            .map_err(|error| VaultError::Unwrap(Box::new(error)))?;
        // A token that was made, or one that was put into a secret.
        let token = ["/auth/client_token", "/data/token"]
            .iter()
            .find_map(|place| answer.pointer(place).and_then(Value::as_str));
        let token = SecretString::from(token.ok_or(VaultError::NoToken)?);
        *unwrapped = Some(Unwrapped {
            wrapping,
            token: token.clone(),
        });
        Ok(token)
    }
}

/// An agent that wraps what it writes writes an object.
async fn read(path: &Path) -> io::Result<SecretString> {
    let text = tokio::fs::read_to_string(path).await?;
    let object: Option<Value> = serde_json::from_str(&text).ok();
    let wrapped = object
        .as_ref()
        .and_then(|object| object.get("token")?.as_str());
    let token = wrapped.unwrap_or(text.trim());
    if token.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty"));
    }
    Ok(SecretString::from(token))
}
