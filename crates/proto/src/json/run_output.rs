//! Outputs of modules: one member of `value`, `sensitive` and `too_long`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

use crate::run::v1::RunOutput;
use crate::run::v1::run_output::Value;

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Shown {
    name: String,
    /// Present as `null` if that is the value.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    value: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sensitive: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_long: Option<bool>,
}

fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(from).map(Some)
}

/// A value that is missing, or not known to this version, is not shown.
impl Serialize for RunOutput {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut shown = Shown {
            name: self.name.clone(),
            ..Shown::default()
        };
        match &self.value {
            Some(Value::Json(text)) => match serde_json::from_str(text) {
                Ok(value) => shown.value = Some(value),
                Err(_unreadable) => shown.too_long = Some(true),
            },
            Some(Value::Sensitive(_)) | None => shown.sensitive = Some(true),
            Some(Value::TooLong(_)) => shown.too_long = Some(true),
        }
        shown.serialize(to)
    }
}

impl<'de> Deserialize<'de> for RunOutput {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let shown = Shown::deserialize(from)?;
        Ok(Self {
            name: shown.name,
            value: Some(match (shown.value, shown.too_long) {
                (Some(value), _) => Value::Json(value.to_string()),
                (None, Some(_)) => Value::TooLong(true),
                (None, None) => Value::Sensitive(true),
            }),
        })
    }
}
