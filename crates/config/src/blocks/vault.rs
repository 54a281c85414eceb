//! `vault` (docs/configuration.md#vault).

use std::io::ErrorKind;
use std::path::PathBuf;

use secrecy::SecretString;

use crate::blocks::client_tls::{ClientTls, EnabledBy, decode_client_tls};
use crate::blocks::environment::{Environment, Setting};
use crate::blocks::transport::Transport;
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::token_file::read_token;
use crate::keys::read;
use crate::report::location::Located;
use crate::report::sink::Sink;

const DEFAULT_ADDRESS: &str = "https://127.0.0.1:8200";
const TOKEN_FILE_AT_HOME: &str = ".vault-token";

/// How Vault is reached.
#[derive(Debug, Clone)]
pub struct VaultConfig {
    /// `address`, a URL; never empty.
    pub address: String,
    /// `namespace` of Vault Enterprise, may be empty.
    pub namespace: String,
    /// The token; `None` if none of the places of docs/configuration.md#vault has one.
    pub token: Option<SecretString>,
    /// `vault_agent_token_file`, absolute: where `token` was read from. Its content may change.
    pub vault_agent_token_file: Option<PathBuf>,
    /// `renew_token`: whether the token is to be kept alive.
    pub renew_token: bool,
    /// `unwrap_token`: whether the token wraps a second one that has to be unwrapped once.
    pub unwrap_token: bool,
    /// `tls`.
    pub tls: ClientTls,
    /// `transport`.
    pub transport: Transport,
}

/// Reads the block, which may be absent: an address in the environment switches Vault on as well.
/// `None` if it is off; then no file is read.
pub(crate) fn decode_vault<'a>(
    block: Option<Block<'a>>,
    environment: Environment<'_>,
    sink: &'a Sink,
) -> Option<VaultConfig> {
    let mut block = block.unwrap_or_else(|| Block::new("vault", Vec::new(), sink));
    let address = block
        .text("address")
        .or_else(|| environment.text(Setting::VAULT_ADDRESS))
        .unwrap_or_default();
    let enabled = block.flag("enabled").unwrap_or(!address.is_empty());
    let namespace = block
        .text("namespace")
        .or_else(|| environment.text(Setting::VAULT_NAMESPACE))
        .unwrap_or_default();
    let token = block.text("token");
    let token_file = block.take("vault_agent_token_file", coerce::text);
    let renew_token = block.flag("renew_token");
    let unwrap_token = block.flag("unwrap_token");
    // The environment may be made for other programs, so it is read only if `vault` is enabled.
    let supplied = enabled.then(|| environment.vault_tls(sink));
    let tls = decode_client_tls(&mut block, EnabledBy::Default, supplied.unwrap_or_default());
    let transport = read(Transport::default(), block.block_or_empty("transport"));
    block.finish();
    if !enabled {
        return None;
    }
    let flag = |setting| environment.flag(setting, sink);
    let from_file = token_file.is_some();
    let token = match &token_file {
        Some(file) => read_token_file(file, sink),
        None => token
            .or_else(|| environment.text(Setting::VAULT_TOKEN))
            .or_else(|| token_at_home(environment, sink)),
    };
    let token = token.filter(|token| !token.is_empty());
    let renew_token = renew_token
        .or_else(|| flag(Setting::VAULT_RENEW_TOKEN))
        .unwrap_or(token.is_some() && !from_file);
    Some(VaultConfig {
        address: Some(address)
            .filter(|address| !address.is_empty())
            .unwrap_or_else(|| DEFAULT_ADDRESS.to_owned()),
        namespace,
        token: token.map(SecretString::from),
        vault_agent_token_file: token_file
            .filter(|file| !file.value.is_empty())
            .map(|file| sink.absolute(file.value)),
        renew_token,
        unwrap_token: unwrap_token
            .or_else(|| flag(Setting::VAULT_UNWRAP_TOKEN))
            .unwrap_or(false),
        tls,
        transport,
    })
}

/// The original continues without a token and without a message if the file cannot be read; here a warning is
/// reported. An unreadable file is not an error: it may be made later, and possibly nothing needs Vault at
/// all.
fn read_token_file(file: &Located<String>, sink: &Sink) -> Option<String> {
    let warn = |reason: &str| {
        let message = format!("Vault is used without a token: {reason}");
        sink.warning(&file.place, message);
    };
    if file.value.is_empty() {
        warn("`vault_agent_token_file` is empty, and any other token is ignored beside it");
        return None;
    }
    let path = sink.current_dir.join(&file.value);
    match read_token(&path) {
        Ok(token) if token.is_empty() => {
            warn(&format!("{} is empty", path.display()));
            None
        }
        Ok(token) => Some(token),
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
