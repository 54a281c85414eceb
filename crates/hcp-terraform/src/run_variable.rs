//! Values that travel with one run.

use std::collections::BTreeMap;

use cts_core::Digest;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

/// A value for one run.
#[derive(Debug, Clone)]
pub struct RunVariable {
    /// Name of the variable.
    pub key: String,
    /// HCL literal; a string has its quotes.
    pub value: SecretString,
}

impl RunVariable {
    /// Digest of the value, as a run that the server shows has it.
    pub(crate) fn digest(&self) -> Digest {
        digest_of(self.value.expose_secret())
    }
}

/// Digests of the values that the server shows, by their names: values may be long. Anything else than a list of names
/// with texts is ignored.
pub(crate) fn digests_of(shown: Option<&Value>) -> BTreeMap<String, Digest> {
    let shown = shown.and_then(Value::as_array).into_iter().flatten();
    let pairs = shown.filter_map(|variable| {
        let value = variable["value"].as_str()?;
        Some((variable["key"].as_str()?.to_owned(), digest_of(value)))
    });
    pairs.collect()
}

/// Some servers remove white space around a value.
fn digest_of(value: &str) -> Digest {
    Digest::of(value.trim().as_bytes())
}
