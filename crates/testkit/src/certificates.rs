//! Certificates for tests of TLS.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

/// Signs certificates.
#[derive(Debug)]
pub struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// Files of a certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPairFiles {
    /// The certificate.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Authority {
    /// A new one.
    pub fn new() -> Self {
        Self::of(CertificateParams::default())
    }

    /// One that ended at the beginning of this day.
    pub fn ended_at((year, month, day): (i32, u8, u8)) -> Self {
        let mut params = CertificateParams::default();
        params.not_after = date_time_ymd(year, month, day);
        Self::of(params)
    }

    fn of(mut params: CertificateParams) -> Self {
        let key = KeyPair::generate().expect("keys can be made");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("the parameters are sound");
        Self {
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// Its own certificate.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A new certificate for servers and clients that carries these names, and its key.
    pub fn issue(&self, names: &[&str]) -> (String, String) {
        self.sign(named(names))
    }

    /// A certificate as of [`Self::issue`], which ends at the beginning of this day.
    pub fn issue_until(
        &self,
        names: &[&str],
        (year, month, day): (i32, u8, u8),
    ) -> (String, String) {
        let mut params = named(names);
        params.not_after = date_time_ymd(year, month, day);
        self.sign(params)
    }

    fn sign(&self, mut params: CertificateParams) -> (String, String) {
        let key = KeyPair::generate().expect("keys can be made");
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let certificate = params
            .signed_by(&key, &self.issuer)
            .expect("the parameters are sound");
        (certificate.pem(), key.serialize_pem())
    }

    /// Writes `<stem>.pem` and `<stem>-key.pem` with such a certificate and its key.
    pub fn write_pair(&self, directory: &Path, stem: &str, names: &[&str]) -> KeyPairFiles {
        let (cert, key) = self.issue(names);
        let files = KeyPairFiles {
            cert: directory.join(format!("{stem}.pem")),
            key: directory.join(format!("{stem}-key.pem")),
        };
        std::fs::write(&files.cert, cert).expect("the directory is writable");
        std::fs::write(&files.key, key).expect("the directory is writable");
        files
    }
}

fn named(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).expect("the names are names")
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl KeyPairFiles {
    /// A server with this certificate. With `clients`, it demands a certificate that this authority has
    /// signed.
    pub fn acceptor(&self, clients: Option<&Authority>) -> TlsAcceptor {
        let chain = vec![CertificateDer::from_pem_file(&self.cert).expect("it was written")];
        let key = PrivateKeyDer::from_pem_file(&self.key).expect("it was written");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("the provider knows the versions");
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                let root = CertificateDer::from_pem_slice(authority.pem.as_bytes());
                roots
                    .add(root.expect("it is PEM"))
                    .expect("it is a certificate of an authority");
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().expect("it has a root"))
            }
        };
        let config = builder
            .with_single_cert(chain, key)
            .expect("the key belongs to the certificate");
        TlsAcceptor::from(Arc::new(config))
    }
}
