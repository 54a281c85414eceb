//! The functions that templates may call.

use std::collections::BTreeMap;
use std::sync::Arc;

use gotmpl::{FuncMap, TemplateError, Value, ValueFunc};

use crate::source::{Found, KeyPath, Source};
use crate::sources::{Sources, failed};

type Result = std::result::Result<Value, TemplateError>;

/// Functions of the original that cts does not have.
const MISSING: [&str; 8] = [
    "caLeaf",
    "caRoots",
    "connect",
    "datacenters",
    "node",
    "nodes",
    "service",
    "services",
];

/// All functions, over `sources`.
pub(crate) fn functions(sources: &Arc<Sources>) -> FuncMap {
    let mut functions: FuncMap = BTreeMap::new();
    let mut add = |name: &str, function: fn(&Sources, &[&str]) -> Result| {
        let (sources, own_name) = (Arc::clone(sources), name.to_owned());
        let call: ValueFunc = Arc::new(move |arguments| {
            let texts: Option<Vec<&str>> = arguments.iter().map(Value::as_str).collect();
            let texts = texts.ok_or_else(|| failed(format!("`{own_name}` takes texts")))?;
            let wanted = if own_name.ends_with("OrDefault") {
                2
            } else {
                1
            };
            if texts.len() != wanted || texts[0].is_empty() {
                let s = if wanted == 1 { "" } else { "s" };
                return Err(failed(format!(
                    "`{own_name}` takes {wanted} text{s} that may not be empty"
                )));
            }
            function(&sources, &texts)
        });
        functions.insert(name.to_owned(), call);
    };
    add("env", |sources, texts| {
        match get(sources, environment(texts[0]))? {
            Found::Text(text) => Ok(text.clone().into()),
            _ => Err(failed(format!(
                "the environment variable {} is not set",
                texts[0]
            ))),
        }
    });
    add("envOrDefault", |sources, texts| {
        match get(sources, environment(texts[0]))? {
            Found::Text(text) if !text.is_empty() => Ok(text.clone().into()),
            _ => Ok(texts[1].into()),
        }
    });
    add("key", |sources, texts| match get(sources, key(texts[0]))? {
        Found::Text(text) => Ok(text.clone().into()),
        _ => Err(failed(format!("{} is not there", key(texts[0])))),
    });
    add("keyExists", |sources, texts| {
        let found = get(sources, key(texts[0]))?;
        Ok(Value::Bool(*found != Found::Nothing))
    });
    add("keyOrDefault", |sources, texts| {
        match get(sources, key(texts[0]))? {
            Found::Text(text) if !text.is_empty() => Ok(text.clone().into()),
            _ => Ok(texts[1].into()),
        }
    });
    // The original differs for a prefix that it has not read yet, which is not waited for here.
    for name in ["tree", "safeTree"] {
        add(name, |sources, texts| pairs(sources, texts[0], |_| true));
    }
    for name in ["ls", "safeLs"] {
        add(name, |sources, texts| {
            pairs(sources, texts[0], |name| !name.contains('/'))
        });
    }
    add("secret", |sources, texts| {
        let source = Source::Secret(texts[0].to_owned());
        match get(sources, source.clone())? {
            Found::Secret(secret) => Ok(value_of(secret)),
            _ => Err(failed(format!("{source} is not there"))),
        }
    });
    add("secrets", |sources, texts| {
        match get(sources, Source::Secrets(texts[0].to_owned()))? {
            Found::Pairs(names) => {
                let names = names.iter().map(|(name, _)| Value::from(name.as_str()));
                Ok(names.collect::<Vec<Value>>().into())
            }
            _ => Ok(Vec::<Value>::new().into()),
        }
    });
    for name in MISSING {
        let call: ValueFunc =
            Arc::new(move |_| Err(failed(format!("the function `{name}` is not available"))));
        functions.insert(name.to_owned(), call);
    }
    functions
}

fn get(sources: &Sources, source: Source) -> std::result::Result<&Found, TemplateError> {
    sources.get(source).ok_or_else(|| failed("not read yet"))
}

fn environment(name: &str) -> Source {
    Source::Environment(name.to_owned())
}

fn key(text: &str) -> Source {
    Source::Key(KeyPath::of(text))
}

/// The keys below a prefix with `Key`, which is relative to it, and `Value`.
fn pairs(sources: &Sources, prefix: &str, wanted: fn(&str) -> bool) -> Result {
    let mut path = KeyPath::of(prefix);
    if !path.path.is_empty() && !path.path.ends_with('/') {
        path.path.push('/');
    }
    let Found::Pairs(found) = get(sources, Source::Tree(path.clone()))? else {
        return Ok(Vec::<Value>::new().into());
    };
    let relative = found.iter().filter_map(|(key, value)| {
        let key = key.strip_prefix(&path.path)?;
        (!key.is_empty() && !key.ends_with('/') && wanted(key)).then_some((key, value))
    });
    let pairs = relative.map(|(key, value)| {
        let fields = [("Key", key), ("Value", value.as_str())];
        let fields = fields.map(|(name, text)| (name.to_owned(), Value::from(text)));
        Value::from(BTreeMap::from(fields))
    });
    Ok(pairs.collect::<Vec<Value>>().into())
}

fn value_of(json: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::Nil,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::Int(number),
            (None, Some(number)) => Value::Uint(number),
            (None, None) => Value::Float(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(values) => values.iter().map(value_of).collect::<Vec<Value>>().into(),
        Json::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, value)| (name.clone(), value_of(value)));
            members.collect::<BTreeMap<String, Value>>().into()
        }
    }
}

#[cfg(test)]
mod tests;
