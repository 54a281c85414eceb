//! Shapes of JSON:API.

use std::fmt::Display;
use std::ops::Deref;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

/// A document with one object.
#[derive(Deserialize)]
pub(crate) struct Document<T> {
    pub(crate) data: T,
}

/// An object of the server, as it was when it was read. Dereferences to its attributes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(bound = "A: DeserializeOwned, R: Default + DeserializeOwned")]
pub struct Resource<A, R = IgnoredAny> {
    /// Id, such as `run-…`.
    pub id: String,
    pub attributes: A,
    /// Related objects.
    #[serde(default, deserialize_with = "or_default")]
    pub relationships: R,
}

impl<A, R> Deref for Resource<A, R> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.attributes
    }
}

/// A relationship to one object, or to none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Option<Linkage>")]
pub struct Related(pub Option<Identifier>);

/// Type and id of an object, such as `users` and `user-…`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Identifier {
    /// Type.
    #[serde(rename = "type")]
    pub kind: String,
    pub id: String,
}

#[derive(Deserialize)]
struct Linkage {
    data: Option<Identifier>,
}

impl From<Option<Linkage>> for Related {
    fn from(linkage: Option<Linkage>) -> Self {
        Self(linkage.and_then(|linkage| linkage.data))
    }
}

impl Related {
    /// Id of the object.
    pub fn id(&self) -> Option<&str> {
        self.0.as_ref().map(|object| object.id.as_str())
    }
}

/// Reads a member, and its default in place of null, which some servers send.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A document with one object of the caller.
pub(crate) fn document(kind: &str, attributes: impl Serialize) -> Value {
    json!({ "data": { "type": kind, "attributes": json!(attributes) } })
}

/// A relationship to one object.
pub(crate) fn relation(kind: &str, id: impl Display) -> Value {
    json!({ "data": { "type": kind, "id": id.to_string() } })
}
