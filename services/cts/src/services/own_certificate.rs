//! The role that the certificate of a service names, as the other services see it (docs/access.md#servers).

use std::path::Path;

use cts_config::Config;
use cts_core::callers::{ServerProof, ServiceRole, ServiceRoles};
use cts_tls::PeerCertificate;

/// Judgement about the certificate in `services.tls`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OwnCertificate {
    /// The role of the service; with several roles, all of them in one sentence.
    Proven(String),
    /// Names no role, or other roles only.
    Unproven(String),
}

/// Judges the certificate of a service with this role; `None` if roles do not count or the file cannot be read.
pub(crate) fn own_certificate(role: ServiceRole, config: &Config) -> Option<OwnCertificate> {
    let security = &config.security;
    let tls = config.services.tls.as_ref();
    let tls = tls.filter(|_| security.checks_servers())?;
    let certificate = PeerCertificate::read_file_now(&tls.cert).ok()?;
    let domain = security.domain.as_deref();
    Some(judge(role, domain, &tls.cert, &certificate))
}

fn judge(
    role: ServiceRole,
    domain: Option<&str>,
    path: &Path,
    certificate: &PeerCertificate,
) -> OwnCertificate {
    let names = certificate.dns_names.iter().map(String::as_str);
    let roles = ServiceRoles::of(names, domain);
    let path = path.display();
    let remedy = format!("give it the name {role}.{}", domain.unwrap_or("<domain>"));
    match roles.prove_server(&[role]) {
        ServerProof::Proven => OwnCertificate::Proven(format!("{path} names the roles: {roles}")),
        ServerProof::OtherRole => OwnCertificate::Unproven(format!(
            "the certificate {path} is that of another role: {roles} (names: {}), so services refuse this {role}: {remedy}",
            certificate.names()
        )),
        ServerProof::Nothing => OwnCertificate::Unproven(format!(
            "the certificate {path} names no role (names: {}), so any service with such a certificate can take the place of this {role}: {remedy}",
            certificate.names()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_of_another_role_is_named() {
        let judged = |names: &[&str]| {
            let certificate = PeerCertificate {
                dns_names: names.iter().map(|name| (*name).to_owned()).collect(),
                ..PeerCertificate::default()
            };
            let path = Path::new("a.pem");
            judge(ServiceRole::Watcher, Some("x"), path, &certificate)
        };
        assert_eq!(
            judged(&["worker.x", "watcher.x"]),
            OwnCertificate::Proven("a.pem names the roles: watcher, worker".to_owned())
        );
        for (names, said) in [
            (
                &["worker.x", "watcher.y"],
                "another role: worker (names: worker.x, watcher.y)",
            ),
            (
                &["localhost", "watcher.y"],
                "no role (names: localhost, watcher.y)",
            ),
        ] {
            let OwnCertificate::Unproven(text) = judged(names) else {
                panic!("{names:?} counts as proof");
            };
            assert!(text.contains(said) && text.contains("watcher.x"), "{text}");
        }
    }
}
