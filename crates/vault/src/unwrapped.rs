//! Unwrapped tokens.

use secrecy::SecretString;

/// A token that was wrapped in a different one.
#[derive(Debug)]
pub(crate) struct Unwrapped {
    pub(crate) wrapping: SecretString,
    pub(crate) token: SecretString,
}
