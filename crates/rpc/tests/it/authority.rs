//! Certificates for tests.

use std::fs;
use std::path::{Path, PathBuf};

use cts_rpc::{ClientTlsFiles, IdentityFiles, TlsFiles};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

pub(crate) struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            pem,
            issuer: Issuer::new(params, key),
        }
    }

    /// A certificate for these names, with its key.
    pub(crate) fn issue(&self, names: &[&str]) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let names: Vec<_> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

/// The files of one service.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    /// Trusts `trusted` and has a certificate for 127.0.0.1 from `issuer`.
    pub(crate) fn new(trusted: &Authority, issuer: &Authority) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.fill(trusted, issuer, &["127.0.0.1"]);
        folder
    }

    pub(crate) fn fill(&self, trusted: &Authority, issuer: &Authority, names: &[&str]) {
        let (cert, key) = issuer.issue(names);
        self.write("ca.pem", &trusted.pem);
        self.write("cert.pem", &cert);
        self.write("key.pem", &key);
    }

    pub(crate) fn write(&self, name: &str, contents: &str) {
        fs::write(self.path(name), contents).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        Path::join(self.0.path(), name)
    }

    pub(crate) fn files(&self) -> TlsFiles {
        TlsFiles {
            ca_cert: self.path("ca.pem"),
            cert: self.path("cert.pem"),
            key: self.path("key.pem"),
            server_name: None,
            verify_incoming: true,
        }
    }

    pub(crate) fn client(&self) -> ClientTlsFiles {
        ClientTlsFiles {
            ca_cert: self.path("ca.pem"),
            identity: Some(IdentityFiles {
                cert: self.path("cert.pem"),
                key: self.path("key.pem"),
            }),
            server_name: None,
        }
    }
}
