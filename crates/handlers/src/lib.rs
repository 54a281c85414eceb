//! Work after a successful apply: handlers of providers, and webhooks (docs/runs.md#handlers).
//!
//! The crate speaks HTTP with firewalls and receivers of webhooks and knows neither leases nor Terraform.
//! Dropping the future of [`HandlerChain::run`] ends the handler in progress. Start with [`Handlers`].

mod chain;
mod error;
mod fake;
mod http;
mod pace;
mod panos;
mod payload;
mod webhook;

pub use chain::{HandlerChain, HandlerRequest, Handlers};
pub use error::{HandlerError, HandlersError, PrepareError};
pub use http::ClientError;
pub use pace::Pace;
pub use panos::{AnswerError, PanosError, SettingError};
pub use payload::AppliedRun;
pub use webhook::{WebhookError, WebhookSettings};
