//! Reads the `consul` block.

use std::fs;
use std::path::Path;
use std::time::Duration;

use secrecy::SecretString;

use crate::block::Block;
use crate::coerce;
use crate::consul::{
    BasicAuth, ConsulConfig, ConsulTls, DefaultCheck, ServiceRegistration, Transport,
};
use crate::environment::Environment;
use crate::place::Located;
use crate::sink::Sink;

const DEFAULT_ADDRESS: &str = "localhost:8500";
/// What the address is if it is written as the empty string and the environment has none.
const EMPTY_ADDRESS: &str = "127.0.0.1:8500";
const DEFAULT_KV_PATH: &str = "consul-terraform-sync/";
const DEFAULT_SERVICE_NAME: &str = "consul-terraform-sync";

/// Reads the block, which may be absent; every value that it lacks comes from the environment, then
/// from the defaults. `port` is that of the API.
pub(crate) fn decode_consul<'a>(
    block: Option<Block<'a>>,
    environment: Environment<'_>,
    current_dir: &Path,
    port: u16,
    sink: &'a Sink,
) -> ConsulConfig {
    let mut block = block.unwrap_or_else(|| Block::new("consul", Vec::new(), sink));
    let address = match block.text("address") {
        Some(address) if !address.is_empty() => address,
        written => environment.consul_address().unwrap_or_else(|| {
            written
                .map_or(DEFAULT_ADDRESS, |_empty| EMPTY_ADDRESS)
                .to_owned()
        }),
    };
    let token = block.text("token").or_else(|| environment.consul_token());
    let token = token_from_file(environment, current_dir, sink).or(token);
    let auth = decode_auth(block.block("auth")).or_else(|| {
        let (username, password) = environment.consul_basic_auth()?;
        let password = SecretString::from(password);
        Some(BasicAuth { username, password })
    });
    let tls = decode_tls(block.block("tls"), environment, sink);
    let transport = decode_transport(block.block("transport"), sink);
    let kv_path = block
        .text("kv_path")
        .unwrap_or_else(|| DEFAULT_KV_PATH.to_owned());
    block.ignored("kv_namespace");
    let service_registration = decode_registration(block.block("service_registration"), port, sink);
    block.finish();
    let https = tls.enabled
        || address.to_ascii_lowercase().starts_with("https://")
        || environment.consul_https(sink);
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
        namespace: environment.consul_namespace(),
        partition: environment.consul_partition(),
        service_registration,
    }
}

fn token_from_file(
    environment: Environment<'_>,
    current_dir: &Path,
    sink: &Sink,
) -> Option<String> {
    let (variable, path) = environment.consul_token_file()?;
    match fs::read_to_string(current_dir.join(&path)) {
        Ok(content) => Some(content.trim().to_owned()).filter(|token| !token.is_empty()),
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

fn decode_tls<'a>(
    block: Option<Block<'a>>,
    environment: Environment<'_>,
    sink: &'a Sink,
) -> ConsulTls {
    let mut block = block.unwrap_or_else(|| Block::new("consul.tls", Vec::new(), sink));
    let enabled = block.flag("enabled");
    let verify = block.flag("verify");
    let ca_cert = block.text("ca_cert");
    let ca_path = block.text("ca_path");
    let cert = block.text("cert");
    let key = block.text("key");
    let server_name = block.text("server_name");
    block.finish();
    // Decided before the environment is looked at: variables for other programs do not switch on TLS.
    let given = [&ca_cert, &ca_path, &cert, &key, &server_name]
        .into_iter()
        .flatten()
        .any(|value| !value.is_empty());
    ConsulTls {
        enabled: enabled.unwrap_or(given || verify.is_some()),
        verify: verify.unwrap_or(true),
        ca_cert: ca_cert
            .or_else(|| environment.consul_ca_cert())
            .unwrap_or_default(),
        ca_path: ca_path
            .or_else(|| environment.consul_ca_path())
            .unwrap_or_default(),
        cert: cert
            .or_else(|| environment.consul_client_cert())
            .unwrap_or_default(),
        key: key
            .or_else(|| environment.consul_client_key())
            .unwrap_or_default(),
        server_name: server_name
            .or_else(|| environment.consul_tls_server_name())
            .unwrap_or_default(),
    }
}

fn decode_transport<'a>(block: Option<Block<'a>>, sink: &'a Sink) -> Transport {
    let mut block = block.unwrap_or_else(|| Block::new("consul.transport", Vec::new(), sink));
    let transport = Transport {
        dial_keep_alive: limit(&mut block, "dial_keep_alive", 30),
        dial_timeout: limit(&mut block, "dial_timeout", 30),
        disable_keep_alives: block.flag("disable_keep_alives").unwrap_or(false),
        idle_conn_timeout: limit(&mut block, "idle_conn_timeout", 5),
        max_idle_conns: count(&mut block, "max_idle_conns", 0),
        max_idle_conns_per_host: count(&mut block, "max_idle_conns_per_host", 100),
        tls_handshake_timeout: limit(&mut block, "tls_handshake_timeout", 10),
    };
    block.finish();
    transport
}

fn limit(block: &mut Block<'_>, name: &'static str, default_seconds: u64) -> Duration {
    let default = Duration::from_secs(default_seconds);
    let Some(written) = block.take(name, coerce::duration) else {
        return default;
    };
    u64::try_from(written.value).map_or_else(
        |_negative| {
            refuse_negative(block, name, &written);
            default
        },
        Duration::from_nanos,
    )
}

fn count(block: &mut Block<'_>, name: &'static str, default: usize) -> usize {
    let Some(written) = block.take(name, coerce::integer) else {
        return default;
    };
    usize::try_from(written.value).unwrap_or_else(|_negative| {
        refuse_negative(block, name, &written);
        default
    })
}

fn refuse_negative(block: &Block<'_>, name: &str, written: &Located<i64>) {
    let message = format!("`consul.transport.{name}` cannot be negative");
    block.sink().error(&written.place, message);
}

fn decode_registration<'a>(
    block: Option<Block<'a>>,
    port: u16,
    sink: &'a Sink,
) -> ServiceRegistration {
    let absent = || Block::new("consul.service_registration", Vec::new(), sink);
    let mut block = block.unwrap_or_else(absent);
    let registration = ServiceRegistration {
        enabled: block.flag("enabled").unwrap_or(true),
        service_name: block
            .text("service_name")
            .unwrap_or_else(|| DEFAULT_SERVICE_NAME.to_owned()),
        address: block.text("address").unwrap_or_default(),
        namespace: block.text("namespace").unwrap_or_default(),
        default_check: decode_check(block.block("default_check"), port),
    };
    block.finish();
    registration
}

fn decode_check(block: Option<Block<'_>>, port: u16) -> DefaultCheck {
    let mut check = DefaultCheck {
        enabled: true,
        address: format!("http://localhost:{port}"),
    };
    let Some(mut block) = block else { return check };
    check.enabled = block.flag("enabled").unwrap_or(true);
    if let Some(written) = block.take("address", coerce::text)
        && !written.value.is_empty()
    {
        if let Err(reason) = check_url(&written.value) {
            let message = format!("the address of `default_check` {reason}");
            block.sink().error(&written.place, message);
        }
        check.address = written.value;
    }
    block.finish();
    check
}

fn check_url(text: &str) -> Result<(), String> {
    if !text.to_ascii_lowercase().starts_with("http") {
        return Err("must include the scheme, for example http://".to_owned());
    }
    let uri: http::Uri = text
        .parse()
        .map_err(|error| format!("is no URL: {error}"))?;
    if uri.scheme().is_none() || uri.host().is_none_or(str::is_empty) {
        return Err("must be an absolute URL, for example http://host:8558".to_owned());
    }
    Ok(())
}
