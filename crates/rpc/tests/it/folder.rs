//! The files of a service with TLS.

use std::fs;
use std::path::{Path, PathBuf};

use cts_rpc::{ClientTlsFiles, IdentityFiles, TlsFiles};
use cts_testkit::Authority;

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
        self.write("ca.pem", trusted.pem());
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
