//! Queries that can be followed in Consul (docs/runs.md#views-and-blocking-queries).

use std::collections::BTreeMap;
use std::fmt;

use cts_core::{CatalogServicesView, FilterLimits, Item, KvQuery, ServiceView};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::IgnoredAny;

use crate::error::ConsulError;
use crate::health::{self, Decoded, UnreadableInstance};
use crate::{catalog, kv};

/// Data that blocking queries read from Consul.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Query {
    /// `/v1/health/service/<name>`.
    Health {
        view: ServiceView,
        /// Whether only instances are returned that pass all their checks.
        passing: bool,
    },
    /// `/v1/catalog/services`.
    Catalog {
        /// Datacenter, empty for the agent's own.
        datacenter: String,
        /// Consul Enterprise namespace, empty for the token's.
        namespace: String,
        /// Only services on nodes with all these pairs in their meta data.
        node_meta: BTreeMap<String, String>,
    },
    /// `/v1/kv/<path>`.
    Kv(KvQuery),
    /// Reports that something has changed, without showing the change. The answer has no items.
    ChangeProbe(ChangeProbe),
}

/// A cheap query that Consul answers when anything of its kind has changed in a datacenter and namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeProbe {
    pub(crate) kind: ProbeKind,
    pub(crate) datacenter: String,
    pub(crate) namespace: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ProbeKind {
    /// Names, tags, ports and addresses of instances.
    Services,
    /// States of checks.
    Checks,
    /// Addresses and meta data of nodes.
    Nodes,
    /// Keys and values.
    Keys,
}

impl ProbeKind {
    /// Fails unless the body is what Consul answers with, whatever is in it.
    #[expect(
        clippy::zero_sized_map_values,
        reason = "the values are to be skipped, and a set does not decode from an object"
    )]
    fn check(self, body: &[u8]) -> Result<(), ConsulError> {
        let checked = match self {
            Self::Services => {
                serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(body).map(drop)
            }
            Self::Checks | Self::Nodes | Self::Keys => {
                serde_json::from_slice::<Vec<IgnoredAny>>(body).map(drop)
            }
        };
        checked.map_err(ConsulError::Decode)
    }
}

/// Keys are listed up to this, which makes the list short.
const SHORT_LIST: &str = "/";

impl Query {
    /// The instances of a service as its view wants them.
    pub fn health(view: ServiceView) -> Self {
        let passing = view.passing_only();
        Self::Health { view, passing }
    }

    /// Returns the query for all names that the view is chosen from; its reader applies the expression.
    pub fn catalog(view: &CatalogServicesView) -> Self {
        Self::Catalog {
            datacenter: view.datacenter.clone(),
            namespace: view.namespace.clone(),
            node_meta: view.node_meta.clone(),
        }
    }

    /// Path of the request; an error if the query must not be sent.
    pub(crate) fn path(&self) -> Result<String, ConsulError> {
        Ok(match self {
            Self::Health { view, .. } => {
                let filter = FilterLimits::FILE.check(&view.filter);
                filter.map_err(ConsulError::UnusableFilter)?;
                format!("/v1/health/service/{}", path_segment(&view.name)?)
            }
            Self::Catalog { .. } => "/v1/catalog/services".to_owned(),
            Self::Kv(query) => format!("/v1/kv/{}", key_path(query)?),
            Self::ChangeProbe(probe) => match probe.kind {
                ProbeKind::Services => "/v1/catalog/services",
                ProbeKind::Checks => "/v1/health/state/any",
                ProbeKind::Nodes => "/v1/catalog/nodes",
                ProbeKind::Keys => "/v1/kv/",
            }
            .to_owned(),
        })
    }

    /// Parameters of its own; those with an empty value are left out.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, String)> {
        let (datacenter, mut parameters) = match self {
            Self::Health { view, passing } => {
                let passing = if *passing { "1" } else { "" };
                let own = vec![
                    ("passing", passing.to_owned()),
                    ("filter", view.filter.clone()),
                ];
                (&view.datacenter, own)
            }
            Self::Catalog {
                datacenter,
                node_meta,
                ..
            } => {
                let pairs = node_meta.iter();
                let pairs = pairs.map(|(key, value)| ("node-meta", format!("{key}:{value}")));
                (datacenter, pairs.collect())
            }
            Self::Kv(query) => {
                let recurse = if query.recurse { "true" } else { "" };
                (&query.datacenter, vec![("recurse", recurse.to_owned())])
            }
            Self::ChangeProbe(probe) => {
                // Nothing matches the filter, so the answers are empty.
                let own = match probe.kind {
                    ProbeKind::Services => Vec::new(),
                    ProbeKind::Checks => vec![("filter", "Status == \"-\"".to_owned())],
                    ProbeKind::Nodes => vec![("filter", "Node == \"-/-\"".to_owned())],
                    ProbeKind::Keys => vec![
                        ("keys", "true".to_owned()),
                        ("separator", SHORT_LIST.to_owned()),
                    ],
                };
                (&probe.datacenter, own)
            }
        };
        parameters.push(("dc", datacenter.clone()));
        parameters
    }

    pub(crate) fn namespace(&self) -> &str {
        match self {
            Self::Health { view, .. } => &view.namespace,
            Self::Catalog { namespace, .. } => namespace,
            Self::Kv(query) => &query.namespace,
            Self::ChangeProbe(probe) => &probe.namespace,
        }
    }

    /// Returns whether status 404 means an empty result.
    pub(crate) fn may_be_missing(&self) -> bool {
        match self {
            Self::Kv(_) => true,
            Self::ChangeProbe(probe) => probe.kind == ProbeKind::Keys,
            Self::Health { .. } | Self::Catalog { .. } => false,
        }
    }

    pub(crate) fn decode(
        &self,
        body: &[u8],
    ) -> Result<(Vec<Item>, Vec<UnreadableInstance>), ConsulError> {
        match self {
            Self::Health { .. } => {
                let Decoded {
                    instances,
                    unreadable,
                } = health::decode(body)?;
                let items = instances.into_iter().map(Item::from).collect();
                Ok((items, unreadable))
            }
            Self::Catalog { .. } => Ok((catalog::decode(body)?, Vec::new())),
            Self::Kv(_) => Ok((kv::decode(body)?, Vec::new())),
            Self::ChangeProbe(probe) => {
                probe.kind.check(body)?;
                Ok((Vec::new(), Vec::new()))
            }
        }
    }
}

/// Shows the query in log lines.
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Health { view, .. } => write!(f, "instances of service {:?}", view.name),
            Self::Catalog { .. } => f.write_str("names of services"),
            Self::Kv(query) if query.recurse => write!(f, "keys below {:?}", query.path),
            Self::Kv(query) => write!(f, "key {:?}", query.path),
            Self::ChangeProbe(probe) => write!(f, "changes of {:?}", probe.kind),
        }
    }
}

/// Characters that are encoded in a segment of a path: all that could mean something in a URL.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A name as one segment of a path, with any content. (The URL type would drop tabs and newlines.)
pub(crate) fn path_segment(name: &str) -> Result<String, ConsulError> {
    if matches!(name, "" | "." | "..") {
        return Err(ConsulError::UnusableName {
            name: name.to_owned(),
        });
    }
    Ok(utf8_percent_encode(name, SEGMENT).to_string())
}

/// A key as the end of a path. Consul answers with a redirection if it would clean the path, so no request to Consul
/// can contain such a key. An empty prefix stands for all keys, and a last segment may be empty.
fn key_path(query: &KvQuery) -> Result<String, ConsulError> {
    let segments: Vec<&str> = query.path.split('/').collect();
    let unusable = |segment: &&str| matches!(*segment, "." | "..");
    let inner = segments
        .split_last()
        .map_or(&[][..], |(_last, inner)| inner);
    let is_empty = query.path.is_empty() && !query.recurse;
    if is_empty || inner.contains(&"") || segments.iter().any(unusable) {
        return Err(ConsulError::UnusableName {
            name: query.path.clone(),
        });
    }
    let encoded = segments
        .iter()
        .map(|segment| utf8_percent_encode(segment, SEGMENT).to_string());
    Ok(encoded.collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport;

    #[test]
    fn no_name_leaves_its_segment() {
        for name in [
            "a/b", "a?b=c", "a#b", "../kv", "..%2f", "a\tb", "ü x", "a\\b", "%",
        ] {
            let segment = path_segment(name).unwrap();
            let url = transport::url("http://h/p", &format!("/v1/{segment}"));
            assert_eq!(url.path(), format!("/p/v1/{segment}"), "{name:?}");
            assert_eq!((url.query(), url.fragment()), (None, None), "{name:?}");
        }
        for name in ["", ".", ".."] {
            assert!(path_segment(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_probe_is_an_answer_of_its_kind() {
        for (kind, right) in [
            (ProbeKind::Services, r#"{"web":[]}"#),
            (ProbeKind::Checks, "[]"),
            (ProbeKind::Nodes, "[]"),
            (ProbeKind::Keys, r#"["a/"]"#),
        ] {
            assert!(kind.check(right.as_bytes()).is_ok(), "{kind:?}");
            for wrong in ["", "null", "[", "{", "7", "<html></html>"] {
                assert!(kind.check(wrong.as_bytes()).is_err(), "{kind:?}: {wrong}");
            }
        }
    }

    #[test]
    fn a_key_keeps_its_slashes_and_leaves_no_segment() {
        let path = |path: &str, recurse| {
            let query = KvQuery {
                path: path.to_owned(),
                recurse,
                ..KvQuery::default()
            };
            Query::Kv(query).path()
        };
        for (key, expected) in [
            ("a/b", "/v1/kv/a/b"),
            ("a/b/", "/v1/kv/a/b/"),
            ("a?b=c#d/é", "/v1/kv/a%3Fb%3Dc%23d/%C3%A9"),
            ("a\n%2e", "/v1/kv/a%0A%252e"),
        ] {
            let path = path(key, false).unwrap();
            assert_eq!(path, expected);
            assert_eq!(transport::url("http://h", &path).path(), expected);
        }
        assert_eq!(path("", true).unwrap(), "/v1/kv/");
        for key in ["", "a//b", "/a", "a/./b", "a/..", ".."] {
            assert!(path(key, false).is_err(), "{key:?}");
        }
    }
}
