//! Vault over HTTP: secrets by their paths, and the token that they are read with (docs/configuration.md#vault).
//!
//! The crate knows nothing of templates and tasks. Start with [`VaultSettings`] and [`Vault`].

mod client;
mod error;
mod renewal;
mod secrets;
mod settings;
mod token;
mod unwrapped;

pub use client::Vault;
pub use error::{SettingsError, VaultError};
pub use settings::VaultSettings;
