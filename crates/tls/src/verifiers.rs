//! The checks of certificates, as the TLS library calls them.

use std::sync::{Arc, LazyLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use crate::contents::cryptography;
use crate::trust::Trusted;

/// Read with the first handshake, so that a client without TLS reads nothing.
static SYSTEM: LazyLock<Trusted> = LazyLock::new(Trusted::system);

/// Whose certificates a client accepts.
#[derive(Debug)]
pub(crate) enum Servers {
    /// Any certificates, for whatever name.
    Unchecked,
    /// Certificates that the system trusts.
    System,
    /// Certificates of these authorities, or these certificates.
    Trusted(Trusted),
}

/// The checks of signatures, which do not depend on the side that signs.
macro_rules! verified_signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls12_signature(message, cert, dss, &self.algorithms)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls13_signature(message, cert, dss, &self.algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.algorithms.supported_schemes()
        }
    };
}

/// Checks servers' certificates.
#[derive(Debug)]
struct ServerCheck {
    servers: Servers,
    algorithms: WebPkiSupportedAlgorithms,
}

pub(crate) fn server_check(servers: Servers) -> Arc<dyn ServerCertVerifier> {
    Arc::new(ServerCheck {
        servers,
        algorithms: cryptography().signature_verification_algorithms,
    })
}

impl ServerCertVerifier for ServerCheck {
    fn verify_server_cert(
        &self,
        presented: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let trusted = match &self.servers {
            Servers::Unchecked => return Ok(ServerCertVerified::assertion()),
            Servers::System => &*SYSTEM,
            Servers::Trusted(trusted) => trusted,
        };
        trusted.check_server(presented, intermediates, name, now, self.algorithms)?;
        Ok(ServerCertVerified::assertion())
    }

    verified_signatures!();
}

/// Checks clients' certificates.
#[derive(Debug)]
struct ClientCheck {
    /// Whether clients without a certificate are refused.
    mandatory: bool,
    trusted: Trusted,
    full: Arc<dyn ClientCertVerifier>,
    algorithms: WebPkiSupportedAlgorithms,
}

pub(crate) fn client_check(
    trusted: Trusted,
    mandatory: bool,
) -> Result<Arc<dyn ClientCertVerifier>, VerifierBuilderError> {
    let roots = Arc::clone(trusted.roots());
    let full = WebPkiClientVerifier::builder_with_provider(roots, cryptography()).build()?;
    Ok(Arc::new(ClientCheck {
        mandatory,
        trusted,
        full,
        algorithms: cryptography().signature_verification_algorithms,
    }))
}

impl ClientCertVerifier for ClientCheck {
    fn client_auth_mandatory(&self) -> bool {
        self.mandatory
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.full.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        presented: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let checked = self.full.verify_client_cert(presented, intermediates, now);
        self.trusted.unless_listed(presented, checked)?;
        Ok(ClientCertVerified::assertion())
    }

    verified_signatures!();
}
