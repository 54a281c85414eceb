//! Certificates for tests.

use cts_tests::Site;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

/// Signs the certificates of services.
pub(crate) struct Authority {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Self { pem, issuer }
    }

    /// Writes `ca.pem`, `cert.pem` and `key.pem` of a service with this name below `directory`, the certificate
    /// last, as a careful operator does. Each call makes a new certificate.
    pub(crate) fn write(&self, site: &Site, directory: &str, name: &str) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        site.write(&format!("{directory}/ca.pem"), &self.pem);
        site.write(&format!("{directory}/key.pem"), &key.serialize_pem());
        site.write(&format!("{directory}/cert.pem"), &certificate.pem());
    }
}
