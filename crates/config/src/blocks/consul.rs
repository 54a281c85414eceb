//! `consul`: the connection and the registration there (docs/configuration.md#consul).

mod address;
mod check_url;
mod decode;

use cts_core::hidden::HIDDEN;
use secrecy::{ExposeSecret as _, SecretString};

use crate::blocks::client_tls::ClientTls;
use crate::blocks::consul::check_url::decode_check_url;
use crate::blocks::transport::Transport;
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::Located;
use crate::settings::settings;

const DEFAULT_SERVICE_NAME: &str = "consul-terraform-sync";

pub(crate) use address::{has_path, without_slash};
pub(crate) use decode::decode_consul;

/// How Consul is reached.
#[derive(Debug, Clone)]
pub struct ConsulConfig {
    /// `host:port`, or a URL with `http://`, `https://` or `unix://`; never empty, and without a slash at its end.
    pub address: String,
    /// Whether the connection uses TLS: because `tls` is enabled, or because of the address or the
    /// environment.
    pub https: bool,
    /// ACL token.
    pub token: Option<SecretString>,
    /// HTTP basic authentication.
    pub auth: Option<BasicAuth>,
    /// `tls`.
    pub tls: ClientTls,
    /// `transport`.
    pub transport: Transport,
    /// `kv_path`, as written: base of the default path of Terraform's state.
    pub kv_path: String,
    /// Consul Enterprise namespace for requests that name none; from the environment only.
    pub namespace: Option<String>,
    /// Consul Enterprise partition; from the environment only.
    pub partition: Option<String>,
    /// `hold_filtered`, cts-only: items that vanish when Consul begins to filter by the token's rights are
    /// kept.
    pub hold_filtered: bool,
    /// `service_registration`.
    pub service_registration: ServiceRegistration,
}

settings! {
    /// HTTP basic authentication.
    #[derive(Debug, Clone)]
    pub struct BasicAuth {
        /// User name, may be empty.
        pub username: String = String::new() => text,
        /// Password, may be empty.
        pub password: SecretString = SecretString::default() => key(read_password, |password| Some(shown_password(password))),
    }
}

settings! {
    /// `consul.service_registration` (`docs/configuration.md#consulservice_registration`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ServiceRegistration {
        /// Whether this instance registers itself.
        pub enabled: bool = true => flag,
        pub service_name: String = DEFAULT_SERVICE_NAME.to_owned() => text,
        /// Address; empty for the agent's.
        pub address: String = String::new() => text,
        /// Consul Enterprise namespace, may be empty.
        pub namespace: String = String::new() => text,
        /// `default_check`.
        pub default_check: DefaultCheck = DefaultCheck::default() => block,
    }
}

settings! {
    /// `consul.service_registration.default_check`.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct DefaultCheck {
        /// Whether the registration has a health check.
        pub enabled: bool = true => flag,
        /// URL of this instance's API as Consul reaches it, without `/v1/health`; never empty.
        pub address: String = String::new() => text_of(decode_check_url),
    }
}

fn read_password(block: &mut Block<'_>, name: &'static str) -> Option<Located<SecretString>> {
    Some(block.take(name, coerce::text)?.map(SecretString::from))
}

fn shown_password(password: &SecretString) -> &'static str {
    if password.expose_secret().is_empty() {
        ""
    } else {
        HIDDEN
    }
}
