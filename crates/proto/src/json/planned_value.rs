//! Values in plans: one member of `value`, `unknown` and `hidden`. Numbers stay as they are written.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::run::v1::PlannedValue;
use crate::run::v1::planned_value::Value;

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Shown {
    /// Present as `null` if that is the value.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    value: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<bool>,
}

fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(from).map(Some)
}

/// A value that is missing, not known to this version, or no JSON is not shown.
impl Serialize for PlannedValue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut shown = Shown::default();
        match &self.value {
            Some(Value::Json(text)) => match RawValue::from_string(text.clone()) {
                Ok(value) => shown.value = Some(value),
                Err(_unreadable) => shown.hidden = Some(true),
            },
            Some(Value::Unknown(_)) => shown.unknown = Some(true),
            Some(Value::Hidden(_)) | None => shown.hidden = Some(true),
        }
        shown.serialize(to)
    }
}

impl<'de> Deserialize<'de> for PlannedValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let shown = Shown::deserialize(from)?;
        let value = match (shown.value, shown.unknown) {
            (Some(value), _) => Value::Json(value.get().to_owned()),
            (None, Some(_)) => Value::Unknown(true),
            (None, None) => Value::Hidden(true),
        };
        Ok(Self {
            value: Some(value),
            hash: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_numbers_and_show_no_hash() {
        let number = "{\"a\": [1.10, 123456789012345678901234567890, null]}";
        for (value, text) in [
            (
                Value::Json(number.to_owned()),
                format!("{{\"value\":{number}}}"),
            ),
            (Value::Json("null".into()), "{\"value\":null}".to_owned()),
            (Value::Unknown(true), "{\"unknown\":true}".to_owned()),
            (Value::Hidden(true), "{\"hidden\":true}".to_owned()),
        ] {
            let mut planned = PlannedValue {
                value: Some(value),
                hash: vec![7],
            };
            assert_eq!(serde_json::to_string(&planned).unwrap(), text);
            planned.hash.clear();
            let read: PlannedValue = serde_json::from_str(&text).unwrap();
            assert_eq!(read, planned);
        }
        let unreadable = PlannedValue {
            value: Some(Value::Json("1}, {".into())),
            hash: Vec::new(),
        };
        for hidden in [unreadable, PlannedValue::default()] {
            assert_eq!(serde_json::to_string(&hidden).unwrap(), "{\"hidden\":true}");
        }
    }
}
