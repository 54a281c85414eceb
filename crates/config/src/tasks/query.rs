//! Keys of conditions and module inputs (docs/configuration.md#condition).

use std::collections::BTreeMap;

use cts_core::{FilterLimits, KvQuery, Regexp, ServicesQuery};
use serde_json::{Map, Value};

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::Located;
use crate::report::sink::Sink;
use crate::tasks::checks;

/// Reads the keys of a condition or a module input, and notes them as members of the API's object
/// (docs/rest.md#task-objects). A key that is not set is no member.
#[derive(Debug)]
pub(crate) struct Members<'b, 'a> {
    pub(crate) block: &'b mut Block<'a>,
    pub(crate) object: Map<String, Value>,
}

/// `services`, with what the checks of conditions and module inputs differ in.
#[derive(Debug)]
pub(crate) struct WrittenServices {
    pub(crate) query: ServicesQuery,
    pub(crate) names: Option<Located<Vec<Located<String>>>>,
    pub(crate) regexp: Option<Located<String>>,
}

impl<'b, 'a> Members<'b, 'a> {
    pub(crate) fn new(block: &'b mut Block<'a>) -> Self {
        Self {
            block,
            object: Map::new(),
        }
    }

    pub(crate) fn note(&mut self, name: &str, value: impl Into<Value>) {
        self.object.insert(name.to_owned(), value.into());
    }

    /// A text; empty if it is not set.
    pub(crate) fn text(&mut self, name: &'static str) -> String {
        let Some(text) = self.block.text(name) else {
            return String::new();
        };
        self.note(name, text.as_str());
        text
    }

    pub(crate) fn texts(&mut self, name: &'static str) -> BTreeMap<String, String> {
        let texts = texts(self.block, name);
        if !texts.is_empty() {
            let members = texts.iter();
            let members = members.map(|(name, text)| (name.clone(), Value::from(text.as_str())));
            self.note(name, members.collect::<Map<_, _>>());
        }
        texts
    }

    /// The keys of a query for instances of services.
    pub(crate) fn services(&mut self) -> WrittenServices {
        let names = self.block.list("names");
        let regexp = self.block.take("regexp", coerce::text);
        if let Some(regexp) = &regexp {
            check_regexp(regexp, checks::SERVICES_REGEXP, self.block.sink());
            self.note("regexp", regexp.value.as_str());
        }
        let listed = names.iter().flat_map(|names| &names.value);
        for name in listed.clone() {
            warn_of_template(name, self.block.sink());
        }
        let listed: Vec<String> = listed.map(|name| name.value.clone()).collect();
        // Next to an expression, an empty list has no meaning.
        if names.is_some() && (regexp.is_none() || !listed.is_empty()) {
            self.note("names", listed.clone());
        }
        let filter = filter(self.block);
        if let Some(filter) = &filter {
            self.note("filter", filter.as_str());
        }
        let query = ServicesQuery {
            names: listed,
            regexp: regexp.as_ref().map(|regexp| regexp.value.clone()),
            datacenter: self.text("datacenter"),
            namespace: self.text("namespace"),
            filter: filter.unwrap_or_default(),
            cts_user_defined_meta: self.texts("cts_user_defined_meta"),
            declared: BTreeMap::new(),
        };
        WrittenServices {
            query,
            names,
            regexp,
        }
    }

    /// The keys of a query for keys, with the path as written. The path is a member in any case: the API requires
    /// it.
    pub(crate) fn key_value(&mut self) -> (KvQuery, Option<Located<String>>) {
        let path = self.block.take("path", coerce::text);
        let text = path.as_ref().map(|path| path.value.as_str());
        self.note("path", text.unwrap_or_default());
        let recurse = self.block.flag("recurse");
        if let Some(recurse) = recurse {
            self.note("recurse", recurse);
        }
        let query = KvQuery {
            path: text.unwrap_or_default().to_owned(),
            recurse: recurse.unwrap_or(false),
            datacenter: self.text("datacenter"),
            namespace: self.text("namespace"),
        };
        (query, path)
    }
}

impl WrittenServices {
    pub(crate) fn names(&self) -> &[Located<String>] {
        self.names.as_ref().map_or(&[], |names| &names.value)
    }
}

/// A map of strings without the places.
pub(crate) fn texts(block: &mut Block<'_>, name: &'static str) -> BTreeMap<String, String> {
    let texts = block.text_map(name).map(|texts| texts.value);
    let texts = texts.into_iter().flatten();
    texts.map(|(name, text)| (name, text.value)).collect()
}

/// Takes the filter of a query. A filter that cannot be sent to Consul is a warning: the other tasks of the file are
/// not affected.
pub(crate) fn filter(block: &mut Block<'_>) -> Option<String> {
    let Located { value, place } = block.take("filter", coerce::text)?;
    if let Err(error) = FilterLimits::FILE.check(&value) {
        let message = format!(
            "this `filter` is not sent to Consul, and its task does not run until it is mended: {error}"
        );
        block.sink().warning(&place, message);
    }
    Some(value)
}

/// Reports an expression that does not compile, with the words of `failure`, and one that counts otherwise than it
/// reads.
pub(crate) fn check_regexp(regexp: &Located<String>, failure: &str, sink: &Sink) {
    if let Err(message) = checks::regexp(&regexp.value, failure) {
        let help = "the syntax is RE2, that of Go, without look-around and back-references";
        sink.error_with_help(&regexp.place, message, Some(help.to_owned()));
    } else if Regexp::has_doubled_backslashes(&regexp.value) {
        let message = "the doubled backslashes in this `regexp` count as single ones, as in \
                       Consul-Terraform-Sync: single ones mean the same";
        sink.warning(&regexp.place, message);
    }
}

/// Terraform would replace a template; here it is part of a name that no service has.
pub(super) fn warn_of_template(name: &Located<String>, sink: &Sink) {
    if name.value.contains("${") {
        let message = format!(
            "the service name {:?} is taken as it is written: files of cts have no variables or functions, write the \
             name itself",
            name.value
        );
        sink.warning(&name.place, message);
    }
}
