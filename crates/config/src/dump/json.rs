//! The tree as JSON.

use serde_json::{Map, Value};

use crate::dump_body::{Body, Item};

pub(super) fn value(body: &Body) -> Value {
    let mut map = Map::new();
    for item in &body.items {
        match item {
            Item::Attribute { name, value } => {
                map.insert(name.clone(), value.clone());
            }
            Item::Block {
                name,
                label,
                repeated,
                body,
            } => {
                let content = value(body);
                let content = match label {
                    Some(label) => Value::Object(Map::from_iter([(label.clone(), content)])),
                    None => content,
                };
                if !repeated {
                    map.insert((*name).to_owned(), content);
                } else if let Some(Value::Array(others)) = map.get_mut(*name) {
                    others.push(content);
                } else {
                    map.insert((*name).to_owned(), Value::Array(vec![content]));
                }
            }
            Item::Note(_) => {}
        }
    }
    Value::Object(map)
}
