//! Shapes of JSON:API.

use std::fmt::Display;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A document with one object.
#[derive(Deserialize)]
pub(crate) struct Document<T> {
    pub(crate) data: T,
}

/// An object of the server.
#[derive(Deserialize)]
#[serde(bound = "A: DeserializeOwned, R: DeserializeOwned")]
pub(crate) struct Resource<A, R = IgnoredAny> {
    pub(crate) id: String,
    pub(crate) attributes: A,
    pub(crate) relationships: Option<R>,
}

/// A relationship to one object, or to none.
#[derive(Deserialize)]
pub(crate) struct Linkage {
    #[serde(default)]
    data: Option<Identifier>,
}

#[derive(Deserialize)]
struct Identifier {
    #[serde(rename = "type")]
    kind: String,
    id: String,
}

impl Linkage {
    /// Type and id at the other end.
    pub(crate) fn into_identifier(self) -> Option<(String, String)> {
        self.data.map(|found| (found.kind, found.id))
    }
}

/// The id at the other end of a relationship.
pub(crate) fn id_of(linkage: Option<Linkage>) -> Option<String> {
    Some(linkage?.data?.id)
}

/// A document with one object of the caller.
pub(crate) fn document(kind: &str, attributes: impl Serialize) -> Value {
    json!({ "data": { "type": kind, "attributes": json!(attributes) } })
}

/// A relationship to one object.
pub(crate) fn relation(kind: &str, id: impl Display) -> Value {
    json!({ "data": { "type": kind, "id": id.to_string() } })
}
