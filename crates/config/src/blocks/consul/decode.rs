//! Reads the `consul` block.

use secrecy::{ExposeSecret as _, SecretString};

use crate::blocks::client_tls::EnabledBy;
use crate::blocks::consul::{
    BasicAuth, ConsulConfig, DefaultCheck, ServiceRegistration, without_slash,
};
use crate::blocks::environment::{Environment, Setting};
use crate::blocks::transport::Transport;
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::token_file::read_token;
use crate::keys::{Keyed, Keys, dumped_switch, read, read_keys};
use crate::report::sink::Sink;

const DEFAULT_ADDRESS: &str = "localhost:8500";
/// The address if it is written as the empty string and the environment has none.
const EMPTY_ADDRESS: &str = "127.0.0.1:8500";
const DEFAULT_KV_PATH: &str = "consul-terraform-sync/";

/// Reads the block, which may be absent; every value that it lacks comes from the environment, then
/// from the defaults. `own_api` is the URL of the API as seen from this machine.
pub(crate) fn decode_consul<'a>(
    block: Option<Block<'a>>,
    environment: Environment<'_>,
    own_api: &str,
    sink: &'a Sink,
) -> ConsulConfig {
    let mut block = block.unwrap_or_else(|| Block::new("consul", Vec::new(), sink));
    let address = environment.text(Setting::CONSUL_ADDRESS);
    let mut consul = ConsulConfig {
        address: address
            .clone()
            .unwrap_or_else(|| DEFAULT_ADDRESS.to_owned()),
        https: false,
        token: environment
            .text(Setting::CONSUL_TOKEN)
            .map(SecretString::from),
        auth: environment.consul_basic_auth(),
        tls: environment.consul_tls(),
        transport: Transport::default(),
        kv_path: DEFAULT_KV_PATH.to_owned(),
        hold_filtered: false,
        namespace: environment.text(Setting::CONSUL_NAMESPACE),
        partition: environment.text(Setting::CONSUL_PARTITION),
        service_registration: ServiceRegistration {
            default_check: DefaultCheck {
                address: own_api.to_owned(),
                ..DefaultCheck::default()
            },
            ..ServiceRegistration::default()
        },
    };
    read_keys(&mut consul, &mut block);
    warn_of_namespace(&mut block);
    block.finish();
    if consul.address.is_empty() {
        consul.address = address.unwrap_or_else(|| EMPTY_ADDRESS.to_owned());
    }
    consul.address = without_slash(consul.address);
    consul.token = token_from_file(environment, sink).or(consul.token);
    consul.https =
        consul.is_encrypted() || environment.flag(Setting::CONSUL_HTTPS, sink) == Some(true);
    consul
}

impl ConsulConfig {
    /// Whether `tls` or the address asks for TLS.
    fn is_encrypted(&self) -> bool {
        self.tls.enabled || self.address.to_ascii_lowercase().starts_with("https://")
    }
}

impl Keyed for ConsulConfig {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.text("address", &mut self.address);
        keys.secret("token", &mut self.token);
        keys.text("kv_path", &mut self.kv_path);
        keys.flag("hold_filtered", &mut self.hold_filtered);
        if let Keys::Dump(body) = keys {
            if self.https && !self.is_encrypted() {
                body.note(format!("{} is true", Setting::CONSUL_HTTPS.variable()));
            }
            for (setting, value) in [
                (Setting::CONSUL_NAMESPACE, &self.namespace),
                (Setting::CONSUL_PARTITION, &self.partition),
            ] {
                if let Some(value) = value {
                    body.note(format!("{} is {value}", setting.variable()));
                }
            }
        }
        let supplied = self.auth.clone();
        let auth = |block: &mut Block<'_>, name| decode_auth(block.block(name)).or(supplied);
        keys.block_of("auth", &mut self.auth, auth, |auth| {
            Some(dumped_switch(auth.as_ref()))
        });
        keys.client_tls("tls", &mut self.tls, EnabledBy::Contents);
        keys.block("transport", &mut self.transport);
        keys.block("service_registration", &mut self.service_registration);
    }
}

/// The original never uses it. Neither does cts: a state that has been elsewhere all the time would be
/// lost.
fn warn_of_namespace(block: &mut Block<'_>) {
    if let Some(written) = block.take("kv_namespace", coerce::text)
        && !written.value.is_empty()
    {
        let message = "`consul.kv_namespace` has no effect; the `consul` backend of the driver takes a \
                       `namespace`";
        block.sink().warning(&written.place, message);
    }
}

fn token_from_file(environment: Environment<'_>, sink: &Sink) -> Option<SecretString> {
    let (variable, path) = environment.file(Setting::CONSUL_TOKEN_FILE)?;
    match read_token(&sink.current_dir.join(&path)) {
        Ok(token) => (!token.is_empty()).then(|| SecretString::from(token)),
        Err(error) => {
            let path = path.display();
            sink.error_outside(format!(
                "cannot read {path}, which {variable} names: {error}"
            ));
            None
        }
    }
}

fn decode_auth(block: Option<Block<'_>>) -> Option<BasicAuth> {
    let mut block = block?;
    let enabled = block.flag("enabled");
    let auth = read(BasicAuth::default(), block);
    let given = !auth.username.is_empty() || !auth.password.expose_secret().is_empty();
    enabled.unwrap_or(given).then_some(auth)
}
