//! The end of a certificate's validity.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The end of the validity of the first certificate in a PEM text, in seconds since 1970; `None` if there is no
/// readable one.
pub fn not_after(pem: &[u8]) -> Option<i64> {
    let certificate = CertificateDer::from_pem_slice(pem).ok()?;
    let (_rest, parsed) = X509Certificate::from_der(&certificate).ok()?;
    Some(parsed.validity().not_after.timestamp())
}

#[cfg(test)]
mod tests {
    use cts_testkit::Authority;

    use super::*;

    #[test]
    fn a_text_without_a_certificate_has_no_end() {
        assert_eq!(not_after(b"no certificate"), None);
    }

    #[test]
    fn the_end_of_a_certificate_is_in_the_future() {
        let (certificate, _key) = Authority::new().issue(&["localhost"]);
        let end = not_after(certificate.as_bytes());
        assert!(end.is_some_and(|end| end > 1_700_000_000), "{end:?}");
    }
}
