//! Reads the `consul` block.

use secrecy::SecretString;

use crate::blocks::client_tls::{EnabledBy, decode_client_tls};
use crate::blocks::consul::{
    BasicAuth, ConsulConfig, DefaultCheck, ServiceRegistration, without_slash,
};
use crate::blocks::environment::{Environment, Setting};
use crate::blocks::transport::Transport;
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::token_file::read_token;
use crate::keys::{Keyed, Keys, read};
use crate::report::location::Located;
use crate::report::sink::Sink;

const DEFAULT_ADDRESS: &str = "localhost:8500";
/// The address if it is written as the empty string and the environment has none.
const EMPTY_ADDRESS: &str = "127.0.0.1:8500";
const DEFAULT_KV_PATH: &str = "consul-terraform-sync/";
const DEFAULT_SERVICE_NAME: &str = "consul-terraform-sync";

/// Reads the block, which may be absent; every value that it lacks comes from the environment, then
/// from the defaults. `own_api` is the URL of the API as seen from this machine.
pub(crate) fn decode_consul<'a>(
    block: Option<Block<'a>>,
    environment: Environment<'_>,
    own_api: &str,
    sink: &'a Sink,
) -> ConsulConfig {
    let mut block = block.unwrap_or_else(|| Block::new("consul", Vec::new(), sink));
    let address = match block.text("address") {
        Some(address) if !address.is_empty() => address,
        written => environment
            .text(Setting::CONSUL_ADDRESS)
            .unwrap_or_else(|| {
                written
                    .map_or(DEFAULT_ADDRESS, |_empty| EMPTY_ADDRESS)
                    .to_owned()
            }),
    };
    let address = without_slash(address);
    let written = block.text("token");
    let token = token_from_file(environment, sink)
        .or(written)
        .or_else(|| environment.text(Setting::CONSUL_TOKEN));
    let auth = decode_auth(block.block("auth")).or_else(|| {
        let (username, password) = environment.consul_basic_auth()?;
        let password = SecretString::from(password);
        Some(BasicAuth { username, password })
    });
    let tls = decode_client_tls(&mut block, EnabledBy::Contents, environment.consul_tls());
    let transport = read(Transport::default(), block.block_or_empty("transport"));
    let kv_path = block
        .text("kv_path")
        .unwrap_or_else(|| DEFAULT_KV_PATH.to_owned());
    let hold_filtered = block.flag("hold_filtered").unwrap_or(false);
    warn_of_namespace(&mut block);
    let registration = block.block_or_empty("service_registration");
    let service_registration = read(default_registration(own_api), registration);
    block.finish();
    let https = tls.enabled
        || address.to_ascii_lowercase().starts_with("https://")
        || environment.flag(Setting::CONSUL_HTTPS, sink) == Some(true);
    ConsulConfig {
        address,
        https,
        token: token
            .filter(|token| !token.is_empty())
            .map(SecretString::from),
        auth,
        tls,
        transport,
        kv_path,
        hold_filtered,
        namespace: environment.text(Setting::CONSUL_NAMESPACE),
        partition: environment.text(Setting::CONSUL_PARTITION),
        service_registration,
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

fn token_from_file(environment: Environment<'_>, sink: &Sink) -> Option<String> {
    let (variable, path) = environment.file(Setting::CONSUL_TOKEN_FILE)?;
    match read_token(&sink.current_dir.join(&path)) {
        Ok(token) => Some(token).filter(|token| !token.is_empty()),
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
    let username = block.text("username").unwrap_or_default();
    let password = block.text("password").unwrap_or_default();
    block.finish();
    let given = !username.is_empty() || !password.is_empty();
    enabled.unwrap_or(given).then(|| BasicAuth {
        username,
        password: SecretString::from(password),
    })
}

fn default_registration(own_api: &str) -> ServiceRegistration {
    ServiceRegistration {
        enabled: true,
        service_name: DEFAULT_SERVICE_NAME.to_owned(),
        address: String::new(),
        namespace: String::new(),
        default_check: DefaultCheck {
            enabled: true,
            address: own_api.to_owned(),
        },
    }
}

impl Keyed for ServiceRegistration {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.flag("enabled", &mut self.enabled);
        keys.text("service_name", &mut self.service_name);
        keys.text("address", &mut self.address);
        keys.text("namespace", &mut self.namespace);
        keys.block("default_check", &mut self.default_check);
    }
}

impl Keyed for DefaultCheck {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.flag("enabled", &mut self.enabled);
        keys.text_of("address", &mut self.address, decode_check_url);
    }
}

fn decode_check_url(block: &mut Block<'_>, name: &'static str) -> Option<Located<String>> {
    let written = block.filled_text(name)?;
    if let Err(message) = check_url(&written.value) {
        block.sink().error(&written.place, message);
    }
    Some(written)
}

fn check_url(text: &str) -> Result<(), String> {
    if !text.to_ascii_lowercase().starts_with("http") {
        return Err("default check address must include scheme, for example http://".to_owned());
    }
    read_url(text).map_err(|reason| format!("error with address for default check: {reason}"))
}

fn read_url(text: &str) -> Result<(), String> {
    let uri: http::Uri = text
        .parse()
        .map_err(|error| format!("it is no URL: {error}"))?;
    let host = uri.host().filter(|host| !host.is_empty());
    let Some(host) = host.filter(|_| uri.scheme().is_some()) else {
        return Err("it must be an absolute URL, for example http://host:8558".to_owned());
    };
    let authority = uri.authority().map_or("", http::uri::Authority::as_str);
    // A port that is no number is not seen as one.
    let port = authority.rsplit_once(host).map_or("", |(_, port)| port);
    if !port.is_empty() && port != ":" && uri.port_u16().is_none() {
        return Err(format!("invalid port {port:?} after host"));
    }
    if let Some(escape) = wrong_escape(uri.path()) {
        return Err(format!("invalid URL escape {escape:?}"));
    }
    Ok(())
}

/// The first `%` without the two digits of a byte, with as much as follows in their place.
fn wrong_escape(path: &str) -> Option<&str> {
    path.match_indices('%').find_map(|(at, _)| {
        let rest = &path[at..];
        let digits = rest.as_bytes().get(1..3);
        let reads = digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        (!reads).then(|| &rest[..rest.floor_char_boundary(3)])
    })
}
