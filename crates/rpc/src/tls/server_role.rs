//! Checks that the certificate of a server names its role (docs/access.md#servers).

use std::fmt;
use std::sync::Arc;

use cts_core::callers::{ServerProof, ServiceRole, ServiceRoles};
use cts_tls::PeerCertificate;
use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, OtherError, SignatureScheme};

/// The role that a client expects of its servers.
///
/// A certificate that names only other roles is refused in the handshake, before the server gets a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRule {
    /// The certificate must name one of these roles.
    pub roles: &'static [ServiceRole],
    /// Names of other domains give no roles (`security.domain`).
    pub domain: Option<String>,
    /// Refuses certificates without a role (`security.server_roles`). Otherwise a warning names them.
    pub required: bool,
}

/// The certificate of a server does not name the expected role.
#[derive(Debug, thiserror::Error)]
enum WrongServer {
    #[error(
        "its certificate belongs to another role: {roles} (names: {names}); expected is the name {expected} (security.service_roles)"
    )]
    OtherRole {
        roles: ServiceRoles,
        names: String,
        expected: String,
    },
    #[error(
        "its certificate names no role (names: {names}); expected is the name {expected} (security.server_roles)"
    )]
    NoRole { names: String, expected: String },
}

/// Adds a [`ServerRule`] to the check of certificates.
pub(super) struct RoleCheck {
    certificates: Arc<dyn ServerCertVerifier>,
    rule: Arc<ServerRule>,
    /// The server, for display.
    address: String,
    /// Names in the certificate of the last warning.
    warned: Mutex<Option<String>>,
}

impl ServerRule {
    /// The names that are expected, for display.
    fn expected(&self) -> String {
        let domain = self.domain.as_deref().unwrap_or("<domain>");
        let names = self.roles.iter().map(|role| format!("{role}.{domain}"));
        names.collect::<Vec<_>>().join(" or ")
    }
}

impl RoleCheck {
    pub(super) fn new(
        certificates: Arc<dyn ServerCertVerifier>,
        rule: Arc<ServerRule>,
        address: String,
    ) -> Self {
        Self {
            certificates,
            rule,
            address,
            warned: Mutex::default(),
        }
    }

    fn judge(&self, certificate: &PeerCertificate) -> Result<(), WrongServer> {
        let names = certificate.dns_names.iter().map(String::as_str);
        let roles = ServiceRoles::of(names, self.rule.domain.as_deref());
        let proof = roles.prove_server(self.rule.roles);
        if proof == ServerProof::Proven {
            return Ok(());
        }
        let names = certificate.names();
        let expected = self.rule.expected();
        if proof == ServerProof::OtherRole {
            return Err(WrongServer::OtherRole {
                roles,
                names,
                expected,
            });
        }
        if self.rule.required {
            return Err(WrongServer::NoRole { names, expected });
        }
        self.warn(names, &expected);
        Ok(())
    }

    /// Logs a certificate without a role, once for all connections to the server.
    fn warn(&self, names: String, expected: &str) {
        let mut warned = self.warned.lock();
        if warned.as_ref() != Some(&names) {
            tracing::warn!(
                "not safe: the certificate of the server at {} names no role (names: {names}), so any service with such a certificate can take its place: give it the name {expected}, and set security.server_roles = true",
                self.address
            );
            *warned = Some(names);
        }
    }
}

impl ServerCertVerifier for RoleCheck {
    fn verify_server_cert(
        &self,
        presented: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.certificates.verify_server_cert(
            presented,
            intermediates,
            name,
            ocsp_response,
            now,
        )?;
        let judged = self.judge(&PeerCertificate::read(presented));
        judged.map_err(|wrong| Error::Other(OtherError(Arc::new(wrong))))?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.certificates.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.certificates.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.certificates.supported_verify_schemes()
    }
}

impl fmt::Debug for RoleCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoleCheck")
            .field("rule", &self.rule)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
