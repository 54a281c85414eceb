//! Names of views (docs/runs.md#views-and-blocking-queries).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CatalogServicesView, ServiceView, ServicesView, View};
use crate::view::condition::KvQuery;

/// Text that identifies a view; equal views have equal ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ViewId(String);

impl ViewId {
    /// Wraps a received id.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ViewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl View {
    /// Returns the view's id, in the form used by the logs of the original. Characters that would make the ids of two
    /// views equal are percent-encoded.
    pub fn id(&self) -> ViewId {
        ViewId(match self {
            Self::Service(view) => view.id_text(),
            Self::Services(view) => view.id_text(),
            Self::CatalogServices(view) => view.id_text(),
            Self::ConsulKv(query) => query.id_text(),
        })
    }
}

impl ServiceView {
    /// The id of the view of this service.
    pub fn id(&self) -> ViewId {
        ViewId(self.id_text())
    }

    fn id_text(&self) -> String {
        let place = at(&self.name, &self.datacenter);
        let namespace = unambiguous(&self.namespace);
        // The filter comes last, because it may contain any text.
        let options = [("ns", namespace.as_str()), ("filter", &self.filter)];
        format!("health.service({place}{})", options_after('?', &options))
    }
}

impl ServicesView {
    fn id_text(&self) -> String {
        let [datacenter, filter, namespace, regexp] = [
            &self.datacenter,
            &self.filter,
            &self.namespace,
            &self.regexp,
        ]
        .map(|part| unambiguous(part));
        let options = [
            ("dc", datacenter.as_str()),
            ("filter", &filter),
            ("ns", &namespace),
        ];
        let mut text = format!("service.regex(regexp={regexp}");
        text.push_str(&options_after('&', &options));
        text.push(')');
        text
    }
}

impl CatalogServicesView {
    fn id_text(&self) -> String {
        let [datacenter, namespace, regexp] =
            [&self.datacenter, &self.namespace, &self.regexp].map(|part| unambiguous(part));
        let meta = node_meta(&self.node_meta);
        let mut options = vec![("dc", datacenter.as_str())];
        options.extend(meta.iter().map(|pair| ("node-meta", pair.as_str())));
        options.extend([("ns", namespace.as_str()), ("regexp", &regexp)]);
        let options = options_after('&', &options);
        match options.strip_prefix('&') {
            Some(options) => format!("catalog.services.registration({options})"),
            None => "catalog.services.registration".to_owned(),
        }
    }
}

impl KvQuery {
    fn id_text(&self) -> String {
        let namespace = unambiguous(&self.namespace);
        if self.recurse {
            let place = at(&self.path, &self.datacenter);
            let options = options_after('?', &[("ns", namespace.as_str())]);
            return format!("kv.list({place}{options})");
        }
        let datacenter = unambiguous(&self.datacenter);
        let options = [("dc", datacenter.as_str()), ("ns", &namespace)];
        let options = options_after('?', &options);
        format!("kv.exists.get({}{options})", unambiguous(&self.path))
    }
}

fn at(name: &str, datacenter: &str) -> String {
    let mut text = unambiguous(name);
    if !datacenter.is_empty() {
        text.push('@');
        text.push_str(&unambiguous(datacenter));
    }
    text
}

fn node_meta(pairs: &BTreeMap<String, String>) -> Vec<String> {
    let pairs = pairs.iter().map(|(key, value)| {
        let key = unambiguous(key).replace(':', "%3A");
        format!("{key}:{}", unambiguous(value))
    });
    pairs.collect()
}

/// The options with a value; `separator` comes before the first.
fn options_after(mut separator: char, options: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (key, value) in options.iter().filter(|(_key, value)| !value.is_empty()) {
        text.push(separator);
        text.push_str(key);
        text.push('=');
        text.push_str(value);
        separator = '&';
    }
    text
}

/// Encodes the characters that separate the parts of an id.
fn unambiguous(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    for character in part.chars() {
        match character {
            '%' => text.push_str("%25"),
            '@' => text.push_str("%40"),
            '?' => text.push_str("%3F"),
            '&' => text.push_str("%26"),
            other => text.push(other),
        }
    }
    text
}
