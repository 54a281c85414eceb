//! The `tls` block of a connection that cts opens (docs/configuration.md#tls-of-consul-and-vault).

use crate::decode::block::Block;

/// TLS as a client. Empty strings are unset; files are not opened here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientTls {
    /// Whether TLS is on. Values from the environment do not switch it on.
    pub enabled: bool,
    /// Whether the server's certificate is verified.
    pub verify: bool,
    /// PEM file of certificate authorities; beats `ca_path`.
    pub ca_cert: String,
    /// Directory of certificate authorities.
    pub ca_path: String,
    /// PEM file of the client certificate, with its key if `key` is empty.
    pub cert: String,
    /// PEM file of the client's private key.
    pub key: String,
    /// Name that the server's certificate must have.
    pub server_name: String,
}

/// Values that the environment supplies for a `tls` block.
#[derive(Debug, Clone, Default)]
pub(crate) struct SuppliedTls {
    pub(crate) verify: Option<bool>,
    pub(crate) ca_cert: Option<String>,
    pub(crate) ca_path: Option<String>,
    pub(crate) cert: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) server_name: Option<String>,
}

/// When a `tls` block that does not say so is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnabledBy {
    /// If one of its texts is not empty, or `verify` is present with either value.
    Contents,
    /// Always, block or not.
    Default,
}

/// Reads the `tls` of `parent`; what the files leave open is supplied.
pub(crate) fn decode_client_tls(
    parent: &mut Block<'_>,
    enabled_by: EnabledBy,
    supplied: SuppliedTls,
) -> ClientTls {
    let mut block = parent.block_or_empty("tls");
    let enabled = block.flag("enabled");
    let verify = block.flag("verify");
    let ca_cert = block.text("ca_cert");
    let ca_path = block.text("ca_path");
    let cert = block.text("cert");
    let key = block.text("key");
    let server_name = block.text("server_name");
    block.finish();
    // Decided before the environment counts: variables for other programs do not switch on TLS.
    let given = [&ca_cert, &ca_path, &cert, &key, &server_name]
        .into_iter()
        .flatten()
        .any(|value| !value.is_empty());
    let by_default = match enabled_by {
        EnabledBy::Contents => given || verify.is_some(),
        EnabledBy::Default => true,
    };
    let either = |written: Option<String>, supplied: Option<String>| {
        written.or(supplied).unwrap_or_default()
    };
    ClientTls {
        enabled: enabled.unwrap_or(by_default),
        verify: verify.or(supplied.verify).unwrap_or(true),
        ca_cert: either(ca_cert, supplied.ca_cert),
        ca_path: either(ca_path, supplied.ca_path),
        cert: either(cert, supplied.cert),
        key: either(key, supplied.key),
        server_name: either(server_name, supplied.server_name),
    }
}
