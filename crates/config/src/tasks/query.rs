//! Queries of conditions and module inputs to Consul (docs/configuration.md#condition).

use std::collections::BTreeMap;

use cts_core::{KvQuery, Regexp, ServicesInput};
use serde_json::{Map, Value};

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::Located;
use crate::report::sink::Sink;
use crate::tasks::checks;

/// `services` as written; `None` is unset.
#[derive(Debug, Default)]
pub(crate) struct RawServices {
    pub(crate) names: Option<Located<Vec<Located<String>>>>,
    pub(crate) regexp: Option<Located<String>>,
    pub(crate) datacenter: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) filter: Option<String>,
    pub(crate) cts_user_defined_meta: BTreeMap<String, String>,
}

impl RawServices {
    pub(crate) fn decode(block: &mut Block<'_>) -> Self {
        let written = Self {
            names: block.list("names"),
            regexp: block.take("regexp", coerce::text),
            datacenter: block.text("datacenter"),
            namespace: block.text("namespace"),
            filter: block.text("filter"),
            cts_user_defined_meta: texts(block, "cts_user_defined_meta"),
        };
        if let Some(regexp) = &written.regexp {
            check_regexp(regexp, block.sink());
        }
        written
    }

    pub(crate) fn names(&self) -> &[Located<String>] {
        self.names.as_ref().map_or(&[], |names| &names.value)
    }

    pub(crate) fn into_input(self) -> ServicesInput {
        let names = self.names().iter().map(|name| name.value.clone()).collect();
        ServicesInput {
            names,
            regexp: self.regexp.map(|regexp| regexp.value),
            datacenter: self.datacenter.unwrap_or_default(),
            namespace: self.namespace.unwrap_or_default(),
            filter: self.filter.unwrap_or_default(),
            cts_user_defined_meta: self.cts_user_defined_meta,
            declared: BTreeMap::new(),
        }
    }

    /// The object of the API; what is unset is left out.
    pub(crate) fn to_object(&self) -> Map<String, Value> {
        let mut object = Map::new();
        // Next to an expression, an empty list has no meaning.
        let names = self.names.as_ref();
        if let Some(names) = names.filter(|n| self.regexp.is_none() || !n.value.is_empty()) {
            let names = names.value.iter().map(|name| name.value.as_str());
            object.insert("names".to_owned(), names.collect());
        }
        let regexp = self.regexp.as_ref().map(|regexp| &regexp.value);
        insert_some(&mut object, "regexp", regexp);
        insert_some(&mut object, "datacenter", self.datacenter.as_ref());
        insert_some(&mut object, "namespace", self.namespace.as_ref());
        insert_some(&mut object, "filter", self.filter.as_ref());
        insert_texts(
            &mut object,
            "cts_user_defined_meta",
            &self.cts_user_defined_meta,
        );
        object
    }
}

/// `consul-kv` as written; `None` is unset.
#[derive(Debug, Default)]
pub(crate) struct RawKv {
    pub(crate) path: Option<Located<String>>,
    pub(crate) recurse: Option<bool>,
    pub(crate) datacenter: Option<String>,
    pub(crate) namespace: Option<String>,
}

impl RawKv {
    pub(crate) fn decode(block: &mut Block<'_>) -> Self {
        Self {
            path: block.take("path", coerce::text),
            recurse: block.flag("recurse"),
            datacenter: block.text("datacenter"),
            namespace: block.text("namespace"),
        }
    }

    pub(crate) fn into_query(self) -> KvQuery {
        KvQuery {
            path: self.path.map(|path| path.value).unwrap_or_default(),
            recurse: self.recurse.unwrap_or(false),
            datacenter: self.datacenter.unwrap_or_default(),
            namespace: self.namespace.unwrap_or_default(),
        }
    }

    /// The object of the API; what is unset is left out, but for the path, which is required there.
    pub(crate) fn to_object(&self) -> Map<String, Value> {
        let mut object = Map::new();
        let path = self.path.as_ref().map(|path| path.value.as_str());
        object.insert("path".to_owned(), Value::from(path.unwrap_or_default()));
        insert_some(&mut object, "recurse", self.recurse.as_ref());
        insert_some(&mut object, "datacenter", self.datacenter.as_ref());
        insert_some(&mut object, "namespace", self.namespace.as_ref());
        object
    }
}

/// A map of strings without the places.
pub(crate) fn texts(block: &mut Block<'_>, name: &'static str) -> BTreeMap<String, String> {
    let texts = block.text_map(name).into_iter();
    texts.map(|(name, text)| (name, text.value)).collect()
}

pub(crate) fn insert_some<T: Clone + Into<Value>>(
    object: &mut Map<String, Value>,
    name: &str,
    value: Option<&T>,
) {
    if let Some(value) = value {
        object.insert(name.to_owned(), value.clone().into());
    }
}

pub(crate) fn insert_texts(
    object: &mut Map<String, Value>,
    name: &str,
    texts: &BTreeMap<String, String>,
) {
    if !texts.is_empty() {
        let texts = texts.iter();
        let texts = texts.map(|(name, text)| (name.clone(), Value::from(text.as_str())));
        object.insert(name.to_owned(), Value::Object(texts.collect()));
    }
}

/// Reports an expression that does not compile, and one that counts otherwise than it reads.
pub(crate) fn check_regexp(regexp: &Located<String>, sink: &Sink) {
    if let Err(message) = checks::regexp(&regexp.value) {
        let help = "the syntax is RE2, that of Go, without look-around and back-references";
        sink.error_with_help(&regexp.place, message, Some(help.to_owned()));
    } else if Regexp::has_doubled_backslashes(&regexp.value) {
        let message = "the doubled backslashes in this `regexp` count as single ones, as in \
                       Consul-Terraform-Sync: single ones mean the same";
        sink.warning(&regexp.place, message);
    }
}
