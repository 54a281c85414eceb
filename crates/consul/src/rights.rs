//! Rights of an ACL token that requests of cts need (docs/cli.md#cts-doctor).

use std::fmt;

use cts_core::{Regexp, View};

/// A resource that ACL rules of Consul name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// An agent, by the name of its node.
    Agent,
    /// Keys, by path.
    Key,
    /// Nodes, by name.
    Node,
    /// Services, by name.
    Service,
    /// Sessions, by the name of their node.
    Session,
}

impl Resource {
    /// The word of rules and of the API.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Key => "key",
            Self::Node => "node",
            Self::Service => "service",
            Self::Session => "session",
        }
    }
}

/// The names that a right covers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// A single name.
    Exact(String),
    /// All names with this prefix.
    Prefix(String),
}

/// One right of a token.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Right {
    /// Kind of the resource.
    pub resource: Resource,
    /// Names of the resource.
    pub scope: Scope,
    /// Whether the right is to write, and not only to read.
    pub write: bool,
    /// Datacenter, empty for the agent's own.
    pub datacenter: String,
}

impl Right {
    /// The right to read in the agent's datacenter.
    pub const fn read(resource: Resource, scope: Scope) -> Self {
        Self {
            resource,
            scope,
            write: false,
            datacenter: String::new(),
        }
    }

    /// The right to write in the agent's datacenter.
    pub const fn write(resource: Resource, scope: Scope) -> Self {
        Self {
            resource,
            scope,
            write: true,
            datacenter: String::new(),
        }
    }

    /// Returns the right for another datacenter; an empty name stands for the agent's own.
    #[must_use]
    pub fn in_datacenter(self, datacenter: &str) -> Self {
        let datacenter = datacenter.to_owned();
        Self { datacenter, ..self }
    }

    /// The word of the API for the access.
    pub const fn access(&self) -> &'static str {
        if self.write { "write" } else { "read" }
    }

    /// The rule of a policy that grants the right.
    pub fn rule(&self) -> String {
        let (kind, name) = match &self.scope {
            Scope::Exact(name) => ("", name),
            Scope::Prefix(name) => ("_prefix", name),
        };
        let (word, access) = (self.resource.word(), self.access());
        format!("{word}{kind} {name:?} {{ policy = {access:?} }}")
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.resource.word(), self.access())?;
        match &self.scope {
            Scope::Exact(name) => write!(f, " {name}")?,
            Scope::Prefix(name) if name.is_empty() => f.write_str(" of all")?,
            Scope::Prefix(name) => write!(f, " {name}*")?,
        }
        if !self.datacenter.is_empty() {
            write!(f, " in {}", self.datacenter)?;
        }
        Ok(())
    }
}

/// The rights to read a view. Without one of these rights Consul still answers, but leaves out data that the token may
/// not read.
pub fn rights_of(view: &View) -> Vec<Right> {
    let exact = |name: &String| Scope::Exact(name.clone());
    let matching = |regexp: &str| {
        let regexp = Regexp::new(regexp);
        Scope::Prefix(regexp.map_or_else(|_invalid| String::new(), |regexp| regexp.prefix()))
    };
    let nodes = || Right::read(Resource::Node, Scope::Prefix(String::new()));
    let (datacenter, rights) = match view {
        View::Service(view) => {
            let service = Right::read(Resource::Service, exact(&view.name));
            (&view.datacenter, vec![service, nodes()])
        }
        View::Services(view) => {
            let services = Right::read(Resource::Service, matching(&view.regexp));
            (&view.datacenter, vec![services, nodes()])
        }
        View::CatalogServices(view) => {
            let services = Right::read(Resource::Service, matching(&view.regexp));
            // Names of services on a node are shown to those who may read the node.
            (&view.datacenter, vec![services, nodes()])
        }
        View::ConsulKv(query) => {
            let scope = if query.recurse {
                Scope::Prefix(query.path.clone())
            } else {
                Scope::Exact(query.path.clone())
            };
            (&query.datacenter, vec![Right::read(Resource::Key, scope)])
        }
    };
    let rights = rights.into_iter();
    rights
        .map(|right| right.in_datacenter(datacenter))
        .collect()
}

#[cfg(test)]
mod tests {
    use cts_core::{CatalogServicesView, KvQuery, ServiceView};

    use super::*;

    fn shown(view: &View) -> Vec<String> {
        rights_of(view).iter().map(Right::to_string).collect()
    }

    #[test]
    fn each_view_needs_the_rights_of_its_data() {
        let service = View::Service(ServiceView {
            name: "web".to_owned(),
            datacenter: "dc2".to_owned(),
            namespace: String::new(),
            filter: String::new(),
        });
        assert_eq!(
            shown(&service),
            ["service:read web in dc2", "node:read of all in dc2"]
        );
        let catalog = View::CatalogServices(CatalogServicesView {
            regexp: "^web-".to_owned(),
            ..CatalogServicesView::default()
        });
        assert_eq!(shown(&catalog), ["service:read web-*", "node:read of all"]);
        let key = |recurse| {
            View::ConsulKv(KvQuery {
                path: "app".to_owned(),
                recurse,
                ..KvQuery::default()
            })
        };
        assert_eq!(shown(&key(false)), ["key:read app"]);
        assert_eq!(shown(&key(true)), ["key:read app*"]);
    }

    #[test]
    fn rules_are_those_of_policies() {
        let key = Right::write(Resource::Key, Scope::Prefix("a/b".to_owned()));
        assert_eq!(key.rule(), r#"key_prefix "a/b" { policy = "write" }"#);
        let service = Right::read(Resource::Service, Scope::Exact("web".to_owned()));
        assert_eq!(service.rule(), r#"service "web" { policy = "read" }"#);
    }
}
