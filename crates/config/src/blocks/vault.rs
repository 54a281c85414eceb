//! `vault` (docs/configuration.md#vault).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use crate::blocks::client_tls::{ClientTls, EnabledBy};
use crate::blocks::environment::{Environment, Setting};
use crate::blocks::transport::Transport;
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::token_file::read_token;
use crate::dump_body::Body;
use crate::dump_values::path;
use crate::keys::{dumped_switch, read_keys};
use crate::report::location::{Located, SourceLocation};
use crate::report::sink::Sink;
use crate::settings::settings;

const DEFAULT_ADDRESS: &str = "https://127.0.0.1:8200";
const TOKEN_FILE: &str = "vault_agent_token_file";
const TOKEN_FILE_AT_HOME: &str = ".vault-token";

settings! {
    /// How Vault is reached. Whether it is enabled depends on `address`, which is read before the other keys.
    #[derive(Debug, Clone)]
    pub struct VaultConfig {
        /// `address`, a URL; never empty.
        pub address: String = String::new() => text,
        /// `namespace` of Vault Enterprise, may be empty.
        pub namespace: String = String::new() => text,
        /// `vault_agent_token_file`, absolute: where `token` was read from. Its content may change.
        pub vault_agent_token_file: Option<PathBuf> = None
            => optional(read_path, |file| path(file)),
        /// The token; `None` if none of the places of docs/configuration.md#vault has one.
        pub token: Option<SecretString> = None => secret,
        /// `renew_token`: whether the token is to be kept alive.
        pub renew_token: bool = false => flag,
        /// `unwrap_token`: whether the token wraps a second one that has to be unwrapped once.
        pub unwrap_token: bool = false => flag,
        /// `tls`.
        pub tls: ClientTls = ClientTls::default() => client_tls(EnabledBy::Default),
        /// `transport`.
        pub transport: Transport = Transport::default() => block,
    }
}

/// Reads the block, which may be absent: an address in the environment switches Vault on as well.
/// `None` if it is off; then no file is read.
pub(crate) fn decode_vault<'a>(
    block: Option<Block<'a>>,
    environment: Environment<'_>,
    sink: &'a Sink,
) -> Option<VaultConfig> {
    let mut block = block.unwrap_or_else(|| Block::new("vault", Vec::new(), sink));
    let supplied = |setting| environment.text(setting).unwrap_or_default();
    let address = block.text("address");
    let address = address.unwrap_or_else(|| supplied(Setting::VAULT_ADDRESS));
    let enabled = block.flag("enabled").unwrap_or(!address.is_empty());
    let mut vault = VaultConfig {
        address,
        namespace: supplied(Setting::VAULT_NAMESPACE),
        // The environment may be made for other programs, so it is read only if `vault` is enabled.
        tls: if enabled {
            environment.vault_tls(sink)
        } else {
            ClientTls::default()
        },
        ..VaultConfig::default()
    };
    let written = read_keys(&mut vault, &mut block);
    block.finish();
    if !enabled {
        return None;
    }
    if vault.address.is_empty() {
        DEFAULT_ADDRESS.clone_into(&mut vault.address);
    }
    let flag = |setting| environment.flag(setting, sink);
    let place = written.place(TOKEN_FILE);
    let file = vault.vault_agent_token_file.take().zip(place);
    if let Some((path, place)) = &file {
        vault.token = read_token_file(path, place, sink);
    } else if !written.has("token") {
        let token = environment.text(Setting::VAULT_TOKEN);
        let token = token.or_else(|| token_at_home(environment, sink));
        vault.token = token
            .filter(|token| !token.is_empty())
            .map(SecretString::from);
    }
    if !written.has("renew_token") {
        let by_default = vault.token.is_some() && file.is_none();
        vault.renew_token = flag(Setting::VAULT_RENEW_TOKEN).unwrap_or(by_default);
    }
    if !written.has("unwrap_token") {
        vault.unwrap_token = flag(Setting::VAULT_UNWRAP_TOKEN).unwrap_or(false);
    }
    let path = file.map(|(path, _)| path);
    let path = path.filter(|path| !path.as_os_str().is_empty());
    vault.vault_agent_token_file = path.map(|path| sink.absolute(path));
    Some(vault)
}

impl VaultConfig {
    /// The block in a dump. A token that a file has is not shown beside the file.
    pub(crate) fn dumped(vault: Option<&Self>) -> Body {
        let mut body = dumped_switch(vault);
        if vault.is_some_and(|vault| vault.vault_agent_token_file.is_some()) {
            body.remove("token");
        }
        body
    }
}

/// A path as it is written, which may be empty.
fn read_path(block: &mut Block<'_>, name: &'static str) -> Option<Located<PathBuf>> {
    Some(block.take(name, coerce::text)?.map(PathBuf::from))
}

/// The original continues without a token and without a message if the file cannot be read; here a warning is
/// reported. An unreadable file is not an error: it may be made later, and possibly nothing needs Vault at
/// all.
fn read_token_file(file: &Path, place: &SourceLocation, sink: &Sink) -> Option<SecretString> {
    let warn = |reason: &str| {
        let message = format!("Vault is used without a token: {reason}");
        sink.warning(place, message);
    };
    if file.as_os_str().is_empty() {
        warn("`vault_agent_token_file` is empty, and any other token is ignored beside it");
        return None;
    }
    let path = sink.current_dir.join(file);
    match read_token(&path) {
        Ok(token) if token.is_empty() => {
            warn(&format!("{} is empty", path.display()));
            None
        }
        Ok(token) => Some(SecretString::from(token)),
        Err(error) => {
            warn(&format!("cannot read {}: {error}", path.display()));
            None
        }
    }
}

fn token_at_home(environment: Environment<'_>, sink: &Sink) -> Option<String> {
    let (_, home) = environment.file(Setting::HOME)?;
    let path = home.join(TOKEN_FILE_AT_HOME);
    match read_token(&path) {
        Ok(token) => Some(token),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => {
            let path = path.display();
            sink.warning_outside(format!("cannot read the Vault token in {path}: {error}"));
            None
        }
    }
}
