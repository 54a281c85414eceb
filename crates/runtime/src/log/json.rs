//! Lines for programs: one JSON object each.

use chrono::SecondsFormat;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::log::line::{Line, TRACE_ID, TraceOfSpan, Value};

/// The object, without a line break.
pub(super) fn shown(line: &Line) -> String {
    // A map of texts and numbers always has a JSON form.
    serde_json::to_string(line).unwrap_or_default()
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let time = self.time.to_rfc3339_opts(SecondsFormat::Millis, false);
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("time", &time)?;
        object.serialize_entry("level", &self.level.to_string())?;
        object.serialize_entry("module", &self.module)?;
        object.serialize_entry("message", &self.message)?;
        if !self.fields.is_empty() || self.trace.is_some() {
            object.serialize_entry("fields", &Fields(&self.fields, self.trace.as_ref()))?;
        }
        object.end()
    }
}

/// Fields have an object of their own: next to the other keys they could be mistaken for them.
struct Fields<'a>(&'a [(&'static str, Value)], Option<&'a TraceOfSpan>);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        for (name, value) in self.0 {
            fields.serialize_entry(name, value)?;
        }
        if let Some(TraceOfSpan(id)) = self.1 {
            fields.serialize_entry(TRACE_ID, id)?;
        }
        fields.end()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Signed(number) => serializer.serialize_i64(*number),
            Self::Unsigned(number) => serializer.serialize_u64(*number),
            Self::Float(number) if number.is_finite() => serializer.serialize_f64(*number),
            // JSON has no numbers for these.
            Self::Float(number) => serializer.serialize_str(&number.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Local};
    use serde_json::json;

    use super::*;
    use cts_core::LogLevel;

    #[test]
    fn a_line_is_an_object_with_the_types_of_its_fields() {
        let mut line = Line {
            time: DateTime::from_timestamp(1_770_000_000, 123_456_000)
                .unwrap()
                .with_timezone(&Local),
            level: LogLevel::Warn,
            module: "ctrl".into(),
            message: "a\n\"b\"".into(),
            fields: vec![
                ("level", Value::Text("fake\n{".into())),
                ("retry", Value::Flag(true)),
                ("left", Value::Signed(-1)),
                ("port", Value::Unsigned(8558)),
                ("share", Value::Float(0.5)),
                ("none", Value::Float(f64::NAN)),
            ],
            trace: Some(TraceOfSpan("0af7".into())),
        };
        let text = shown(&line);
        assert!(!text.contains('\n'), "{text}");
        let mut read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let time = read["time"].take();
        let time = DateTime::parse_from_rfc3339(time.as_str().unwrap()).unwrap();
        assert_eq!(time.timestamp_millis(), 1_770_000_000_123);
        let expected = json!({
            "time": null, "level": "WARN", "module": "ctrl", "message": "a\n\"b\"",
            "fields": {
                "level": "fake\n{", "retry": true, "left": -1, "port": 8558, "share": 0.5, "none": "NaN",
                "trace.id": "0af7",
            },
        });
        assert_eq!(read, expected);
        line.fields.clear();
        line.trace = None;
        assert!(!shown(&line).contains("fields"));
    }
}
