//! Faults of TLS in the words of Go's library, which scripts of the original look for.

use std::error::Error;

use rustls::{AlertDescription, CertificateError, OtherError};

use crate::plain_text::causes;
use crate::trust::{AuthorityPresented, NothingTrusted};

/// The words for the fault of TLS that made a connection fail; `None` if it has failed for something else.
pub fn go_words(error: &(dyn Error + 'static)) -> Option<String> {
    let mut all = std::iter::once(error).chain(causes(error));
    let fault: &rustls::Error = all.find_map(|cause| cause.downcast_ref())?;
    match fault {
        rustls::Error::InvalidMessage(_) => {
            Some("http: server gave HTTP response to HTTPS client".to_owned())
        }
        rustls::Error::AlertReceived(alert) => {
            Some(format!("remote error: tls: {}", alert_words(*alert)?))
        }
        fault if is_unknown_authority(fault) => Some(
            "tls: failed to verify certificate: x509: certificate signed by unknown authority"
                .to_owned(),
        ),
        _ => None,
    }
}

/// A bad signature is that of another authority with the name of a trusted one.
fn is_unknown_authority(fault: &rustls::Error) -> bool {
    match fault {
        rustls::Error::InvalidCertificate(complaint) => matches!(
            complaint,
            CertificateError::UnknownIssuer | CertificateError::BadSignature
        ),
        rustls::Error::Other(OtherError(cause)) => {
            cause.is::<AuthorityPresented>() || cause.is::<NothingTrusted>()
        }
        _ => false,
    }
}

/// For the alerts about a client's certificate.
const fn alert_words(alert: AlertDescription) -> Option<&'static str> {
    Some(match alert {
        AlertDescription::AccessDenied => "access denied",
        AlertDescription::BadCertificate => "bad certificate",
        AlertDescription::CertificateExpired => "expired certificate",
        AlertDescription::CertificateRequired => "certificate required",
        AlertDescription::CertificateRevoked => "revoked certificate",
        AlertDescription::CertificateUnknown => "unknown certificate",
        AlertDescription::HandshakeFailure => "handshake failure",
        AlertDescription::UnknownCA => "unknown certificate authority",
        AlertDescription::UnsupportedCertificate => "unsupported certificate",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use rustls::InvalidMessage;

    use super::*;

    #[test]
    fn faults_have_the_words_of_go() {
        let unknown = "x509: certificate signed by unknown authority";
        let cases = [
            (
                rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType),
                "http: server gave HTTP response to HTTPS client",
            ),
            (CertificateError::UnknownIssuer.into(), unknown),
            (CertificateError::BadSignature.into(), unknown),
            (
                rustls::Error::Other(OtherError(Arc::new(AuthorityPresented))),
                unknown,
            ),
            (
                rustls::Error::Other(OtherError(Arc::new(NothingTrusted))),
                unknown,
            ),
            (
                rustls::Error::AlertReceived(AlertDescription::CertificateRequired),
                "remote error: tls: certificate required",
            ),
        ];
        for (fault, expected) in cases {
            let words = go_words(&io::Error::other(fault)).unwrap();
            assert!(words.ends_with(expected), "{words}");
        }
        assert_eq!(go_words(&io::Error::other("refused")), None);
    }
}
