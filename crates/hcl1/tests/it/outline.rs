//! Trees without spans, and their short written form for tables.

use cts_hcl1::{Body, Number, Value, ValueKind};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Plain {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    List(Vec<Self>),
    Object(Vec<PlainItem>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlainItem {
    /// Text, and whether it is quoted.
    pub(crate) keys: Vec<(String, bool)>,
    pub(crate) assigned: bool,
    pub(crate) value: Plain,
}

pub(crate) fn plain_body(body: &Body) -> Vec<PlainItem> {
    body.items
        .iter()
        .map(|item| PlainItem {
            keys: item
                .keys
                .iter()
                .map(|key| (key.text.clone(), key.quoted))
                .collect(),
            assigned: item.assigned,
            value: plain_value(&item.value),
        })
        .collect()
}

fn plain_value(value: &Value) -> Plain {
    match &value.kind {
        ValueKind::String(text) => Plain::Text(text.clone()),
        ValueKind::Number(Number::Integer(number)) => Plain::Integer(*number),
        ValueKind::Number(Number::Float(number)) => Plain::Float(*number),
        ValueKind::Bool(flag) => Plain::Bool(*flag),
        ValueKind::List(elements) => Plain::List(elements.iter().map(plain_value).collect()),
        ValueKind::Object(body) => Plain::Object(plain_body(body)),
        ValueKind::Null => unreachable!("HCL has no null"),
    }
}

/// `a=1 b "c"{d=["x"]}`: strings as Rust writes them, floats always with point or exponent.
pub(crate) fn outline(source: &str) -> String {
    let body = cts_hcl1::parse(source.as_bytes())
        .map_err(|error| format!("{source:?} is refused: {error}"))
        .expect("the source is right");
    outline_of_items(&plain_body(&body))
}

fn outline_of_items(items: &[PlainItem]) -> String {
    items
        .iter()
        .map(|item| {
            let keys: Vec<String> = item
                .keys
                .iter()
                .map(|(text, quoted)| {
                    if *quoted {
                        format!("{text:?}")
                    } else {
                        text.clone()
                    }
                })
                .collect();
            let mut written = keys.join(" ");
            if item.assigned {
                written.push('=');
            }
            outline_of_value(&mut written, &item.value);
            written
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn outline_of_value(written: &mut String, value: &Plain) {
    match value {
        Plain::Text(text) => {
            let quoted = format!("{text:?}");
            written.push_str(&quoted);
        }
        Plain::Integer(number) => written.push_str(&number.to_string()),
        Plain::Float(number) => {
            let digits = format!("{number:?}");
            written.push_str(&digits);
        }
        Plain::Bool(flag) => written.push_str(&flag.to_string()),
        Plain::List(elements) => {
            written.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    written.push_str(", ");
                }
                outline_of_value(written, element);
            }
            written.push(']');
        }
        Plain::Object(items) => {
            written.push('{');
            written.push_str(&outline_of_items(items));
            written.push('}');
        }
    }
}
