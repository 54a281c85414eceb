//! Errors of handlers. No error text has a password, a key or a URL in it.

use std::fmt;
use std::time::Duration;

use cts_core::Chain;

use crate::panos::{PanosError, SettingError};
use crate::webhook::WebhookError;

/// The handlers of a task cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The block of the provider lacks settings, or has a wrong one.
    #[error("provider \"panos\" cannot commit")]
    Panos(#[from] SettingError),
    /// The block has no name.
    #[error("terraform_provider \"fake-sync\" needs a `name`")]
    NamelessFake,
    /// The task names a webhook that the configuration of this worker does not have.
    #[error(
        "the task names the webhook {name:?}, but the configuration of this worker has no such `webhook` block"
    )]
    UnknownWebhook { name: String },
    /// A webhook cannot be used.
    #[error("webhook {name:?} cannot be used")]
    Webhook {
        name: String,
        #[source]
        source: Box<WebhookError>,
    },
}

/// A handler has failed.
#[derive(Debug, thiserror::Error)]
pub enum HandlerError {
    /// The changes are not committed.
    #[error("provider \"panos\": the commit failed")]
    Panos(#[from] PanosError),
    /// The provider `fake-sync` fails on purpose.
    #[error("provider \"fake-sync\": {name:?} fails because of `err`")]
    Fake { name: String },
    /// The receiver did not take the message.
    #[error("webhook {name:?} was not delivered")]
    Webhook {
        name: String,
        #[source]
        source: Box<WebhookError>,
    },
    /// The handler was not done in time.
    #[error("{what} was not done within {} s", limit.as_secs())]
    Slow { what: String, limit: Duration },
}

/// All errors of a chain in which at least one handler has failed.
#[derive(Debug)]
pub struct HandlersError(pub(crate) Vec<HandlerError>);

impl HandlersError {
    /// The errors, in the order of the chain.
    pub fn errors(&self) -> &[HandlerError] {
        &self.0
    }
}

impl fmt::Display for HandlersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the apply succeeded, but what follows it did not")?;
        for (position, error) in self.0.iter().enumerate() {
            let sign = if position == 0 { ": " } else { "; " };
            write!(f, "{sign}{}", Chain(error))?;
        }
        Ok(())
    }
}

impl std::error::Error for HandlersError {}
