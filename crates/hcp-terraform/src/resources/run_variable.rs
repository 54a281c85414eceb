//! Values that travel with one run.

use std::collections::BTreeMap;

use cts_core::Digest;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize as _, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A value for one run.
#[derive(Debug, Clone, Serialize)]
pub struct RunVariable {
    /// Name of the variable.
    pub key: String,
    /// HCL literal; a string has its quotes.
    #[serde(serialize_with = "exposed")]
    pub value: SecretString,
}

impl RunVariable {
    /// Digest of the value, as a run that the server shows has it.
    pub(crate) fn digest(&self) -> Digest {
        digest_of(self.value.expose_secret())
    }
}

/// Writes a secret into the body of a request.
pub(crate) fn exposed<S: Serializer>(secret: &SecretString, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(secret.expose_secret())
}

/// Digests of the values that the server shows, by their names: values may be long. Anything else than a list of names
/// with texts is ignored.
pub(crate) fn digests<'de, D>(shown: D) -> Result<BTreeMap<String, Digest>, D::Error>
where
    D: Deserializer<'de>,
{
    let shown = Value::deserialize(shown)?;
    let pairs = shown
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|variable| {
            let value = variable["value"].as_str()?;
            Some((variable["key"].as_str()?.to_owned(), digest_of(value)))
        });
    Ok(pairs.collect())
}

/// Some servers remove white space around a value.
fn digest_of(value: &str) -> Digest {
    Digest::of(value.trim().as_bytes())
}
