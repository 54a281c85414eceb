//! `tls`: TLS of the program's own API (docs/configuration.md#tls).

use std::path::PathBuf;

use cts_core::Chain;
use cts_tls::{Authorities, Files, IdentityFiles, TlsError};

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::{Located, SourceLocation};
use crate::report::original::ProblemKind;

/// `tls`, switched on. The paths are absolute. Certificate and key have been read and belong together;
/// the files of the authorities have not been opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiTls {
    /// PEM file of the certificate, followed by the ones that lead to its authority.
    pub cert: PathBuf,
    /// PEM file of the private key.
    pub key: PathBuf,
    /// Whether clients must show a certificate (mutual TLS).
    pub verify_incoming: bool,
    /// PEM file of the authorities that clients' certificates come from; counts alone if both are given.
    pub ca_cert: Option<PathBuf>,
    /// Directory of such files.
    pub ca_path: Option<PathBuf>,
}

impl ApiTls {
    /// The authorities that must have issued the certificates of clients; `None` if clients need none.
    pub fn clients(&self) -> Option<Authorities> {
        if !self.verify_incoming {
            return None;
        }
        Authorities::of(self.ca_cert.as_deref(), self.ca_path.as_deref())
    }
}

/// Reads the block. A block that is disabled is checked as well, but its files are opened only if it is
/// enabled.
pub(crate) fn decode_tls(block: Option<Block<'_>>) -> Option<ApiTls> {
    let mut block = block?;
    let enabled = block.flag("enabled");
    let cert = block.path("cert");
    let key = block.path("key");
    let verify = block.take("verify_incoming", coerce::flag);
    let ca_cert = block.path("ca_cert");
    let ca_path = block.path("ca_path");
    let given = [&cert, &key, &ca_cert, &ca_path]
        .iter()
        .any(|path| path.is_some());
    let enabled = enabled.unwrap_or(given || verify.is_some());
    let identity = check_identity(&block, enabled, cert.as_ref(), key.as_ref());
    check_authorities(&block, verify.as_ref(), ca_cert.as_ref(), ca_path.as_ref());
    block.finish();
    let IdentityFiles { cert, key } = identity.filter(|_| enabled)?;
    Some(ApiTls {
        cert,
        key,
        verify_incoming: verify.is_some_and(|verify| verify.value),
        ca_cert: ca_cert.map(|path| path.value),
        ca_path: ca_path.map(|path| path.value),
    })
}

fn check_identity(
    block: &Block<'_>,
    enabled: bool,
    cert: Option<&Located<PathBuf>>,
    key: Option<&Located<PathBuf>>,
) -> Option<IdentityFiles> {
    let (cert, key) = match (cert, key) {
        (Some(cert), Some(key)) => (cert, key),
        (cert, key) if enabled => {
            let missing = match (cert, key) {
                (None, None) => "`cert` and `key`",
                (None, _) => "`cert`",
                _ => "`key`",
            };
            block.missing(format!("`tls` is enabled and needs {missing}"));
            block.sink().classify(ProblemKind::NoIdentity);
            return None;
        }
        (Some(cert), None) => {
            let message = "`tls.cert` needs a `key` beside it, even in a disabled block";
            block.sink().error(&cert.place, message);
            return None;
        }
        (None, _) => return None,
    };
    let files = IdentityFiles {
        cert: cert.value.clone(),
        key: key.value.clone(),
    };
    if enabled && let Err(error) = try_out(&files) {
        let message = format!("the API cannot use its certificate: {}", Chain(&error));
        block
            .sink()
            .error(place_of(&error, &files, cert, key), message);
    }
    Some(files)
}

fn try_out(files: &IdentityFiles) -> Result<(), TlsError> {
    let files = Files {
        authorities: None,
        identity: Some(files.clone()),
    };
    files.read_now()?.identity()?;
    Ok(())
}

/// The place of the setting that causes the error.
fn place_of<'a>(
    error: &TlsError,
    files: &IdentityFiles,
    cert: &'a Located<PathBuf>,
    key: &'a Located<PathBuf>,
) -> &'a SourceLocation {
    let of_cert = error.path() == Some(&files.cert);
    if of_cert { &cert.place } else { &key.place }
}

fn check_authorities(
    block: &Block<'_>,
    verify: Option<&Located<bool>>,
    ca_cert: Option<&Located<PathBuf>>,
    ca_path: Option<&Located<PathBuf>>,
) {
    let Some(verify) = verify.filter(|verify| verify.value) else {
        return;
    };
    match (ca_cert, ca_path) {
        (None, None) => {
            let message = "`tls.verify_incoming` needs `ca_cert` or `ca_path`, whose authorities \
                           clients' certificates come from";
            block.sink().error(&verify.place, message);
            block.sink().classify(ProblemKind::NoAuthorities);
        }
        (Some(_), Some(ca_path)) => {
            let message = "`tls.ca_path` has no effect beside `ca_cert`, which counts alone";
            block.sink().warning(&ca_path.place, message);
        }
        _ => {}
    }
}
