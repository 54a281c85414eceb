//! The `tls` block of a connection that cts opens (docs/configuration.md#tls-of-consul-and-vault).

use crate::decode::block::Block;
use crate::keys::{Keys, dumped, read_keys};
use crate::settings::settings;

settings! {
    /// TLS as a client. Empty strings are unset; files are not opened here.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ClientTls {
        /// Whether TLS is on. Values from the environment do not switch it on.
        pub enabled: bool = false => flag,
        /// Whether the server's certificate is verified.
        pub verify: bool = true => flag,
        /// PEM file of certificate authorities; beats `ca_path`.
        pub ca_cert: String = String::new() => text,
        /// Directory of certificate authorities.
        pub ca_path: String = String::new() => text,
        /// PEM file of the client certificate, with its key if `key` is empty.
        pub cert: String = String::new() => text,
        /// PEM file of the client's private key.
        pub key: String = String::new() => text,
        /// Name that the server's certificate must have.
        pub server_name: String = String::new() => text,
    }
}

/// When a `tls` block that does not say so is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnabledBy {
    /// If one of its texts is not empty, or `verify` is present with either value.
    Contents,
    /// Always, block or not.
    Default,
}

impl Keys<'_, '_> {
    /// The `tls` block; what the files leave open keeps its value.
    pub(crate) fn client_tls(
        &mut self,
        name: &'static str,
        tls: &mut ClientTls,
        enabled_by: EnabledBy,
    ) {
        let supplied = tls.clone();
        let read = |parent: &mut Block<'_>, name| {
            decode(parent.block_or_empty(name), enabled_by, supplied)
        };
        self.block_of(name, tls, read, |tls| Some(dumped(tls)));
    }
}

fn decode(mut block: Block<'_>, enabled_by: EnabledBy, mut tls: ClientTls) -> ClientTls {
    let written = read_keys(&mut tls, &mut block);
    block.finish();
    if !written.has("enabled") {
        // Decided by the files alone: variables for other programs do not switch on TLS.
        let mut texts = [
            ("ca_cert", &tls.ca_cert),
            ("ca_path", &tls.ca_path),
            ("cert", &tls.cert),
            ("key", &tls.key),
            ("server_name", &tls.server_name),
        ]
        .into_iter();
        let has_contents = written.has("verify")
            || texts.any(|(name, text)| !text.is_empty() && written.has(name));
        tls.enabled = has_contents || enabled_by == EnabledBy::Default;
    }
    tls
}
