//! The names in the certificates.

use std::net::IpAddr;

use cts_core::callers::{Role, ServiceRole};

use crate::certs_error::CertsError;

/// Most bytes of a DNS name.
const LONGEST: usize = 253;

/// Most bytes between two dots of it.
const LONGEST_LABEL: usize = 63;

/// A role with the names in its certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) role: String,
    /// DNS names and IP addresses.
    pub(super) names: Vec<String>,
    /// Whether the owner is a service, which other services call. Certificates of users have only the name of their
    /// role.
    pub(super) is_service: bool,
}

impl Named {
    /// Adds the names that are missing.
    pub(super) fn add(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
    }
}

/// The names for these roles, or for all of the services and operators. Hosts are of the form `ROLE=NAME`. With `local`
/// services have the names of this machine.
pub(super) fn of_roles(
    domain: &str,
    roles: &[String],
    hosts: &[String],
    local: bool,
) -> Result<Vec<Named>, CertsError> {
    if !is_dns_name(domain) {
        return Err(CertsError::Name(domain.to_owned()));
    }
    let usual = ServiceRole::ALL.map(|role| role.as_str().to_owned());
    let roles = if roles.is_empty() { &usual } else { roles };
    let mut all: Vec<Named> = Vec::new();
    for role in roles {
        let service = role.parse::<ServiceRole>().ok();
        if service.is_none() && role.parse::<Role>().is_err() {
            return Err(CertsError::Role(role.clone()));
        }
        if all.iter().any(|named| named.role == *role) {
            continue;
        }
        let mut named = Named {
            role: role.clone(),
            names: vec![format!("{role}.{domain}")],
            is_service: service.is_some_and(|role| ServiceRole::SERVERS.contains(&role)),
        };
        if local && named.is_service {
            named.add(["localhost", "127.0.0.1"].map(str::to_owned));
        }
        all.push(named);
    }
    for host in hosts {
        let (role, name) = host
            .split_once('=')
            .ok_or_else(|| CertsError::Host(host.clone()))?;
        if name.parse::<IpAddr>().is_err() && !is_dns_name(name) {
            return Err(CertsError::Name(name.to_owned()));
        }
        let named = all.iter_mut().find(|named| named.role == role);
        let named = named.ok_or_else(|| CertsError::OtherRole {
            host: host.clone(),
            role: role.to_owned(),
        })?;
        if !named.is_service {
            return Err(CertsError::PersonsHost {
                host: host.clone(),
                role: role.to_owned(),
            });
        }
        named.add([name.to_owned()]);
    }
    Ok(all)
}

fn is_dns_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let letters = label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        letters
            && (1..=LONGEST_LABEL).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= LONGEST && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(domain: &str, roles: &[&str], hosts: &[&str]) -> Result<Vec<Named>, String> {
        made(domain, roles, hosts, false)
    }

    fn made(
        domain: &str,
        roles: &[&str],
        hosts: &[&str],
        local: bool,
    ) -> Result<Vec<Named>, String> {
        let owned = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        };
        of_roles(domain, &owned(roles), &owned(hosts), local).map_err(|error| error.to_string())
    }

    #[test]
    fn each_role_has_its_own_name_and_its_hosts() {
        let all = of(
            "cts.example",
            &[],
            &["worker=w1.example", "worker=10.0.0.7"],
        )
        .unwrap();
        let roles: Vec<&str> = all.iter().map(|named| named.role.as_str()).collect();
        assert_eq!(
            roles,
            ["watcher", "scheduler", "worker", "gateway", "operator"]
        );
        assert_eq!(
            all[2].names,
            ["worker.cts.example", "w1.example", "10.0.0.7"]
        );
        let some = of("x", &["admin", "gateway", "admin"], &[]).unwrap();
        assert_eq!(some.len(), 2);
        assert_eq!(some[0].names[0], "admin.x");
    }

    #[test]
    fn names_of_the_machine_are_for_services_and_on_request() {
        let roles = ["gateway", "operator", "read"];
        let local = made("x", &roles, &["gateway=localhost"], true).unwrap();
        assert_eq!(local[0].names, ["gateway.x", "localhost", "127.0.0.1"]);
        assert_eq!(local[1].names, ["operator.x"]);
        assert_eq!(local[2].names, ["read.x"]);
        let services: Vec<bool> = local.iter().map(|named| named.is_service).collect();
        assert_eq!(services, [true, false, false]);
    }

    #[test]
    fn mistakes_are_named() {
        for (domain, role, host, part) in [
            (
                "*.example",
                "worker",
                "worker=w",
                "\"*.example\" is no DNS name",
            ),
            ("", "worker", "worker=w", "\"\" is no DNS name"),
            ("cts.example", "boss", "worker=w", "\"boss\" is no role"),
            (
                "cts.example",
                "worker",
                "w1.example",
                "not of the form ROLE=NAME",
            ),
            (
                "cts.example",
                "worker",
                "worker=a b",
                "\"a b\" is no DNS name",
            ),
            (
                "cts.example",
                "worker",
                "gateway=g",
                "no certificate is made",
            ),
            (
                "cts.example",
                "operator",
                "operator=10.0.0.7",
                "is not for servers",
            ),
        ] {
            let error = of(domain, &[role], &[host]).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
