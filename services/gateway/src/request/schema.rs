//! Checks JSON values against schemas of the `OpenAPI` document, in the order and the words of the reference
//! (docs/rest.md#checks-of-requests).
//!
//! Supports the part of `OpenAPI`'s schemas that the document uses for requests: `$ref`, `type`, `nullable`,
//! `default`, `enum`, `minimum`, `items`, `properties`, `required` and `additionalProperties`.

use std::fmt;

use serde_json::{Map, Value};

/// The first place where a value breaks its schema, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    path: Vec<String>,
    reason: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "Error at \"/{}\": ", self.path.join("/"))?;
        }
        f.write_str(&self.reason)
    }
}

/// A schema, and the document that its references lead into.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema<'a> {
    document: &'a Value,
    schema: &'a Value,
}

impl<'a> Schema<'a> {
    /// The schema `name` among the components of `document`.
    pub(crate) fn component(document: &'a Value, name: &str) -> Self {
        let schema = &document["components"]["schemas"][name];
        Self { document, schema }
    }

    /// Checks `value` and fills in the defaults. `null` for a member with a default counts as its absence.
    pub(crate) fn check(self, value: &mut Value) -> Result<(), Mismatch> {
        self.visit(value, &mut Vec::new())
    }

    fn of(self, schema: &'a Value) -> Self {
        let schema = schema["$ref"]
            .as_str()
            .and_then(|reference| self.document.pointer(reference.strip_prefix('#')?))
            .unwrap_or(schema);
        Self { schema, ..self }
    }

    fn visit(self, value: &mut Value, path: &mut Vec<String>) -> Result<(), Mismatch> {
        if value.is_null() {
            return match self.schema["nullable"] {
                Value::Bool(true) => Ok(()),
                _ => Err(mismatch(path, "Value is not nullable")),
            };
        }
        match self.schema["type"].as_str() {
            Some("object") => match value {
                Value::Object(members) => self.visit_members(members, path),
                _ => Err(mismatch(path, "value must be an object")),
            },
            Some("array") => match value {
                Value::Array(items) => {
                    let schema = self.of(&self.schema["items"]);
                    items.iter_mut().enumerate().try_for_each(|(index, item)| {
                        below(path, &index.to_string(), |path| schema.visit(item, path))
                    })
                }
                _ => Err(mismatch(path, "value must be an array")),
            },
            Some("string") if !value.is_string() => Err(mismatch(path, "value must be a string")),
            Some("boolean") if !value.is_boolean() => {
                Err(mismatch(path, "value must be a boolean"))
            }
            Some("integer") => self.visit_integer(value, path),
            _ => self.visit_choice(value, path),
        }
    }

    fn visit_choice(self, value: &Value, path: &[String]) -> Result<(), Mismatch> {
        match &self.schema["enum"] {
            Value::Array(choices) if !choices.contains(value) => {
                let choices = &self.schema["enum"];
                let reason = format!("value is not one of the allowed values {choices}");
                Err(mismatch(path, &reason))
            }
            _ => Ok(()),
        }
    }

    fn visit_integer(self, value: &Value, path: &[String]) -> Result<(), Mismatch> {
        let Some(number) = value.as_i64() else {
            return Err(mismatch(path, "value must be an integer"));
        };
        match self.schema["minimum"].as_i64() {
            Some(minimum) if number < minimum => {
                let reason = format!("number must be at least {minimum}");
                Err(mismatch(path, &reason))
            }
            _ => Ok(()),
        }
    }

    fn visit_members(
        self,
        members: &mut Map<String, Value>,
        path: &mut Vec<String>,
    ) -> Result<(), Mismatch> {
        let properties = self.schema["properties"].as_object();
        for (name, property) in properties.into_iter().flatten() {
            let default = &self.of(property).schema["default"];
            let is_absent = members.get(name).is_none_or(Value::is_null);
            if is_absent && !default.is_null() {
                members.insert(name.clone(), default.clone());
            }
        }
        // The order of the map depends on a feature of its crate that any other crate may switch on.
        let mut present: Vec<_> = members.iter_mut().collect();
        present.sort_by_key(|(name, _)| *name);
        for (name, value) in present {
            let property = properties.and_then(|properties| properties.get(name));
            let schema = match (property, &self.schema["additionalProperties"]) {
                (Some(property), _) => property,
                (None, others @ Value::Object(_)) => others,
                (None, Value::Bool(false)) => {
                    let reason = format!("property \"{name}\" is unsupported");
                    return Err(mismatch(path, &reason));
                }
                (None, _) => continue,
            };
            below(path, name, |path| self.of(schema).visit(value, path))?;
        }
        let required = self.schema["required"].as_array();
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                let reason = format!("property \"{name}\" is missing");
                return below(path, name, |path| Err(mismatch(path, &reason)));
            }
        }
        Ok(())
    }
}

fn mismatch(path: &[String], reason: &str) -> Mismatch {
    Mismatch {
        path: path.to_vec(),
        reason: reason.to_owned(),
    }
}

fn below<T>(path: &mut Vec<String>, segment: &str, visit: impl FnOnce(&mut Vec<String>) -> T) -> T {
    path.push(segment.to_owned());
    let outcome = visit(path);
    path.pop();
    outcome
}
