//! Which certificates of the other side are accepted.

use std::sync::Arc;

use rustls::client::verify_server_name;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error, OtherError, RootCertStore};

/// The certificates that are trusted: each as the one of an authority, and for itself.
///
/// A certificate that the other side presents is accepted if it comes from one of them, or if it is one
/// of them byte for byte. In both cases it must be valid now, and a server's must hold the server's name.
/// The second case is the certificate that `openssl req -x509` makes, which is both a server's and its own
/// authority's (`CA:TRUE`), or a server's whose authority is not known.
#[derive(Debug, Clone)]
pub(crate) struct Trusted {
    roots: Arc<RootCertStore>,
    certificates: Arc<[CertificateDer<'static>]>,
}

/// A certificate cannot be a server's or client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the certificate is one of an authority (CA:TRUE); such a one is accepted only if it is itself among \
     the trusted certificates, as in `ca_cert`"
)]
pub struct AuthorityPresented;

/// No certificate can be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no certificates are trusted: the system has none, and none are named (`ca_cert`)")]
pub(crate) struct NothingTrusted;

impl Trusted {
    pub(crate) fn new(roots: RootCertStore, certificates: Vec<CertificateDer<'static>>) -> Self {
        Self {
            roots: Arc::new(roots),
            certificates: certificates.into(),
        }
    }

    /// Reads the certificates that the system trusts; unusable ones are left out.
    pub(crate) fn system() -> Self {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::debug!(%error, "some of the system's certificates cannot be read");
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs.iter().cloned());
        Self::new(roots, found.certs)
    }

    /// As authorities.
    pub(crate) fn roots(&self) -> &Arc<RootCertStore> {
        &self.roots
    }

    /// Whether a server with this certificate is the one of this name.
    pub(crate) fn check_server(
        &self,
        presented: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Result<(), Error> {
        if self.roots.is_empty() {
            return Err(Error::Other(OtherError(Arc::new(NothingTrusted))));
        }
        let parsed = ParsedCertificate::try_from(presented)?;
        let signed = rustls::client::verify_server_cert_signed_by_trust_anchor(
            &parsed,
            &self.roots,
            intermediates,
            now,
            algorithms.all,
        );
        self.unless_listed(presented, signed)?;
        verify_server_name(&parsed, name)
    }

    /// Takes the result of the full check of a certificate. The check looks at the time of validity before it
    /// comes to the two complaints that do not count if the certificate itself is trusted.
    pub(crate) fn unless_listed<T>(
        &self,
        presented: &CertificateDer<'_>,
        checked: Result<T, Error>,
    ) -> Result<(), Error> {
        let Err(error) = checked else {
            return Ok(());
        };
        let Error::InvalidCertificate(complaint) = &error else {
            return Err(error);
        };
        let is_authority = is_authority(complaint);
        let by_origin = is_authority || *complaint == CertificateError::UnknownIssuer;
        if by_origin && self.certificates.contains(presented) {
            return Ok(());
        }
        if is_authority {
            // As an error of the certificate it would be shown in its form for programmers.
            return Err(Error::Other(OtherError(Arc::new(AuthorityPresented))));
        }
        Err(error)
    }
}

impl AuthorityPresented {
    /// Whether a client with a check of its own, which never accepts such a certificate, has failed for this.
    pub fn is_cause_of(error: &(dyn std::error::Error + 'static)) -> bool {
        let mut next = Some(error);
        while let Some(cause) = next {
            // The error inside of such an error is not among its sources.
            let carried = cause.downcast_ref().and_then(std::io::Error::get_ref);
            let found = match carried {
                Some(carried) => carried.downcast_ref(),
                None => cause.downcast_ref(),
            };
            if let Some(Error::InvalidCertificate(complaint)) = found {
                return is_authority(complaint);
            }
            next = cause.source();
        }
        false
    }
}

fn is_authority(complaint: &CertificateError) -> bool {
    let CertificateError::Other(OtherError(cause)) = complaint else {
        return false;
    };
    cause.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity)
}
