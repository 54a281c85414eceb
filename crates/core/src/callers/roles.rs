//! Roles of services, and the roles that certificates name.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::callers::role::{Role, UnknownRole};
use crate::spelled;

spelled! {
    /// The role of a caller of the services' gRPC methods.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ServiceRole {
        /// A watcher.
        Watcher = "watcher",
        /// A scheduler.
        Scheduler = "scheduler",
        /// A worker.
        Worker = "worker",
        /// A gateway.
        Gateway = "gateway",
        /// A person with a certificate of the services' authority.
        Operator = "operator",
    }
}

/// The text is not a known word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not known")]
pub struct UnknownWord(pub(crate) String);

impl ServiceRole {
    /// Roles of the services, which are servers.
    pub const SERVERS: [Self; 4] = [Self::Watcher, Self::Scheduler, Self::Worker, Self::Gateway];
}

impl fmt::Display for ServiceRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ServiceRole {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let found = Self::ALL.into_iter().find(|role| role.as_str() == text);
        found.ok_or_else(|| UnknownRole::new(text, Self::ALL.map(Self::as_str).join(", ")))
    }
}

/// Whether the certificate of a server proves its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerProof {
    /// The server has the expected role, possibly among further roles.
    Proven,
    /// The certificate names no role.
    Nothing,
    /// The certificate belongs to a service or person with other roles.
    OtherRole,
}

/// Roles in the DNS names `<role>.<domain>` of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServiceRoles {
    services: BTreeSet<ServiceRole>,
    person: Option<Role>,
}

impl ServiceRoles {
    /// The roles in the DNS names of a certificate. With `domain`, names of other domains are ignored.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>, domain: Option<&str>) -> Self {
        let mut roles = Self::default();
        for name in names {
            let Some((label, rest)) = name.split_once('.') else {
                continue;
            };
            if domain.is_some_and(|domain| !rest.eq_ignore_ascii_case(domain)) {
                continue;
            }
            let label = label.to_ascii_lowercase();
            if let Ok(role) = label.parse() {
                roles.services.insert(role);
            }
            if let Ok(role) = label.parse() {
                roles.person = Some(roles.person.map_or(role, |known| known.with(role)));
            }
        }
        roles
    }

    /// Whether the certificate has no role.
    pub fn is_empty(&self) -> bool {
        self.services.is_empty() && self.person.is_none()
    }

    /// Whether the certificate has this role.
    pub fn contains(&self, role: ServiceRole) -> bool {
        self.services.contains(&role)
    }

    /// Whether a server with these roles has one of the `expected` roles.
    pub fn prove_server(&self, expected: &[ServiceRole]) -> ServerProof {
        if expected.iter().any(|role| self.contains(*role)) {
            ServerProof::Proven
        } else if self.is_empty() {
            ServerProof::Nothing
        } else {
            ServerProof::OtherRole
        }
    }

    /// The role over the REST API, with the rights of all named roles; an operator counts as admin.
    pub fn person(&self) -> Option<Role> {
        if self.contains(ServiceRole::Operator) {
            return Some(Role::Admin);
        }
        self.person
    }
}

impl fmt::Display for ServiceRoles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services = self.services.iter().map(|role| role.as_str());
        let names: Vec<&str> = services.chain(self.person.map(Role::as_str)).collect();
        if names.is_empty() {
            return f.write_str("no role");
        }
        f.write_str(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_the_first_labels_of_names() {
        let of = |names: &[&str], domain| ServiceRoles::of(names.iter().copied(), domain);
        let roles = of(
            &["Worker.cts.example", "gateway.cts.example", "localhost"],
            None,
        );
        assert_eq!(roles.to_string(), "worker, gateway");
        assert!(roles.contains(ServiceRole::Worker) && !roles.contains(ServiceRole::Operator));
        assert_eq!(roles.person(), None);
        for names in [
            &["worker"][..],
            &["my-worker.cts.example"],
            &["a.worker.cts.example"],
            &["*.cts.example"],
        ] {
            assert!(of(names, None).is_empty(), "{names:?}");
        }
    }

    #[test]
    fn a_domain_leaves_out_the_names_of_others() {
        let of = |name| ServiceRoles::of([name], Some("cts.example"));
        assert!(of("worker.CTS.example").contains(ServiceRole::Worker));
        for name in [
            "worker.example",
            "worker.x.cts.example",
            "worker.cts.example.evil",
        ] {
            assert!(of(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn a_server_proves_its_role_by_one_of_its_names() {
        let prove = |names: &[&str]| {
            let roles = ServiceRoles::of(names.iter().copied(), Some("x"));
            roles.prove_server(&[ServiceRole::Scheduler])
        };
        assert_eq!(prove(&["worker.x", "scheduler.x"]), ServerProof::Proven);
        assert_eq!(prove(&["localhost", "scheduler.y"]), ServerProof::Nothing);
        assert_eq!(prove(&["worker.x", "scheduler.y"]), ServerProof::OtherRole);
        assert_eq!(prove(&["read.x"]), ServerProof::OtherRole);
    }

    #[test]
    fn people_have_the_rights_of_all_roles_that_are_named() {
        let person = |names: &[&str]| ServiceRoles::of(names.iter().copied(), None).person();
        assert_eq!(person(&["read.x", "operate.x"]), Some(Role::Operate));
        assert_eq!(
            person(&["operate.x", "approve.x"]),
            Some(Role::OperateApprove)
        );
        assert_eq!(person(&["read.x", "operator.x"]), Some(Role::Admin));
        assert_eq!(person(&["scheduler.x"]), None);
    }
}
