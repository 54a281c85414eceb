//! The rules of a listener.

use cts_access::{Authenticator, Principal, Refusals};
use cts_core::callers::{PlanValues, Rights, Role, ServiceRole};
use cts_listen::Browsers;
use tonic::Status;

use super::peer::PeerIdentity;
use super::table::{self, Rule};

/// Rules of a network listener. By default each admitted client may call all methods.
#[derive(Debug, Clone, Default)]
pub struct AccessRules {
    /// Certificates may call the methods of their roles and no others (`security.service_roles`).
    pub service_roles: bool,
    /// Clients need a certificate or a token (`security.require_auth`).
    pub require_auth: bool,
    /// Names of other domains in certificates give no roles (`security.domain`).
    pub domain: Option<String>,
    /// The role from which on callers see the values of plans (`security.plan_values`).
    pub plan_values: PlanValues,
    /// Recognises tokens; without it no token is accepted.
    pub authenticator: Option<Authenticator>,
    /// Takes notes of refused calls.
    pub refusals: Option<Refusals>,
    /// Names and pages that browsers may use the listener by.
    pub browsers: Browsers,
}

/// Decision of a listener about a call.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Its client may make it.
    Admitted,
    /// Its token decides.
    Token(Rule),
    Refused(Status),
}

impl AccessRules {
    /// Whether calls are checked at all.
    pub(super) const fn are_on(&self) -> bool {
        self.service_roles || self.require_auth
    }

    /// Whether a connection may come from a service. With a certificate: true if the certificate names a service, or if
    /// it names no role and `service_roles` is off. Without a certificate: true if calls are not checked.
    pub(crate) fn may_be_service(&self, identity: Option<&PeerIdentity>) -> bool {
        match identity {
            None => !self.are_on(),
            Some(identity) => {
                let roles = &identity.roles;
                let is_service = ServiceRole::SERVERS
                    .iter()
                    .any(|role| roles.contains(*role));
                is_service || (!self.service_roles && roles.is_empty())
            }
        }
    }

    /// Judges a call of the method `path`.
    pub(super) fn judge(
        &self,
        path: &str,
        identity: Option<&PeerIdentity>,
        has_token: bool,
    ) -> Verdict {
        if !self.are_on() {
            return Verdict::Admitted;
        }
        let method = method(path);
        let Some(table::Method { rule, .. }) = table::method(path) else {
            // Clients of a later version do without a call that is not known.
            let text = format!("{method} is not known here");
            return Verdict::Refused(Status::unimplemented(text));
        };
        let of_certificate =
            identity.is_some_and(|identity| !self.service_roles || rule.admits(&identity.roles));
        if of_certificate || rule == Rule::Open {
            return Verdict::Admitted;
        }
        if self.require_auth && has_token {
            return Verdict::Token(rule);
        }
        Verdict::Refused(match identity {
            Some(identity) => Status::permission_denied(format!(
                "{method} is for certificates with a role of: {rule}; the roles of this one: {} (security.service_roles)",
                identity.roles
            )),
            None if self.require_auth => no_credential(method),
            None => Status::unauthenticated(format!(
                "{method} needs a client certificate with a role of: {rule} (security.service_roles)"
            )),
        })
    }

    /// The rights of the owner of a certificate, or of a caller without one. Services check their own callers. Without
    /// `service_roles` every certificate has all rights.
    pub(super) fn rights(&self, identity: Option<&PeerIdentity>) -> Rights {
        match identity {
            Some(PeerIdentity { roles, .. })
                if self.service_roles
                    && !ServiceRole::SERVERS
                        .iter()
                        .any(|role| roles.contains(*role)) =>
            {
                self.rights_of(roles.person())
            }
            _ => Rights::default(),
        }
    }

    /// The rights of a caller with this role.
    pub(super) fn rights_of(&self, role: Option<Role>) -> Rights {
        Rights::of(role, self.plan_values)
    }

    /// Whether a client is believed when it names another caller.
    pub(super) fn believes(&self, identity: Option<&PeerIdentity>) -> bool {
        match identity {
            Some(identity) => !self.service_roles || identity.roles.contains(ServiceRole::Gateway),
            None => !self.are_on(),
        }
    }
}

/// Judges a call with a token.
pub(super) fn judge_token(path: &str, rule: Rule, principal: &Principal) -> Result<(), Status> {
    let method = method(path);
    let Some(role) = principal.role else {
        return Err(Status::permission_denied(format!(
            "{method}: the token has no role"
        )));
    };
    if !principal.tasks.is_all() {
        return Err(Status::permission_denied(format!(
            "{method}: a token for some tasks only is of use for the REST API only"
        )));
    }
    if rule.admits_token(role) {
        return Ok(());
    }
    Err(Status::permission_denied(match rule {
        Rule::Roles(_, Some(least)) => too_small(method, least, role),
        _ => format!("{method} is for services, and not for tokens"),
    }))
}

fn too_small(method: &str, least: Role, role: Role) -> String {
    format!("{method} needs the role {least}; the role of the token is {role}")
}

/// Refuses a call without a usable credential. The text does not depend on the credential's fault.
pub(super) fn no_credential(method: &str) -> Status {
    Status::unauthenticated(format!(
        "{method} needs a valid client certificate or token (security.require_auth)"
    ))
}

/// The method as people write it.
pub(super) fn method(path: &str) -> &str {
    path.strip_prefix('/').unwrap_or(path)
}
