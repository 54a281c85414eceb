//! From the block `security` to the settings of access (docs/access.md).

use std::sync::Arc;

use cts_access::{IssuerSettings, Issuers, LoginSettings, LoginToken};
use cts_config::{Config, OidcConfig, PageLoginConfig, SecurityConfig};
use cts_gateway::{AccessOptions, PageOptions, Site};
use cts_listen::Browsers;
use cts_runtime::ProcessEnv;

use crate::failure::Failure;

/// Access control of the API.
pub(crate) fn gateway(config: &Config, process_env: &ProcessEnv) -> Result<AccessOptions, Failure> {
    let security = &config.security;
    Ok(AccessOptions {
        required: security.require_auth,
        domain: security.domain.clone(),
        plan_values: security.plan_values,
        issuers: issuers(config)?,
        logins: config.page.enabled,
        clock: Arc::clone(&process_env.clock),
    })
}

/// Names and pages that browsers may use each listener by.
pub(crate) fn browsers(security: &SecurityConfig) -> Browsers {
    Browsers {
        hosts: security.hosts.clone(),
        origins: security.origins.clone(),
    }
}

/// Names and pages that browsers may use the API by: the host of the page is known, too.
pub(crate) fn api_browsers(config: &Config) -> Browsers {
    let mut browsers = browsers(&config.security);
    let host = config.page.host().filter(|_host| config.page.enabled);
    browsers.hosts.extend(host);
    browsers
}

/// The page of the API; `None` if it is off.
pub(crate) fn page(config: &Config) -> Option<PageOptions> {
    let page = &config.page;
    page.enabled.then(|| PageOptions {
        site: Site {
            prefix: page.path_prefix.clone(),
            name: page.name.clone(),
            color: page.color,
            version: env!("CARGO_PKG_VERSION"),
        },
        url: page.url.clone(),
        session: page.session,
        login: page.login.as_ref().map(login),
    })
}

fn login(block: &PageLoginConfig) -> LoginSettings {
    LoginSettings {
        issuer: block.issuer.clone(),
        client_id: block.client_id.clone(),
        client_secret_file: block.client_secret_file.clone(),
        scopes: block.scopes.clone(),
        token: match block.token {
            cts_config::LoginToken::Id => LoginToken::Id,
            cts_config::LoginToken::Access => LoginToken::Access,
        },
    }
}

/// The issuers whose tokens are accepted. Reads the files with their authorities.
pub(crate) fn issuers(config: &Config) -> Result<Issuers, Failure> {
    let settings = config.security.oidc.iter().map(issuer).collect();
    Issuers::new(settings).map_err(Failure::Issuers)
}

fn issuer(block: &OidcConfig) -> IssuerSettings {
    IssuerSettings {
        issuer: block.issuer.clone(),
        audience: block.audience.clone(),
        name_claim: block.name_claim.clone(),
        role_claim: block.role_claim.clone(),
        roles: block.roles.clone(),
        clock_skew: block.clock_skew,
        ca_cert: block.ca_cert.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use cts_config::{LoadContext, load};
    use cts_core::Clock as _;
    use cts_runtime::SystemClock;

    use super::*;

    fn config(text: &str) -> Config {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cts.hcl");
        fs::write(&path, text).unwrap();
        let context = LoadContext {
            environment: &BTreeMap::new(),
            current_dir: directory.path(),
            hostname: "host",
            now: SystemClock.now(),
        };
        load(&[path], &context).unwrap().config
    }

    #[test]
    fn each_colour_of_the_page_is_a_setting() {
        for color in Site::COLORS {
            let config = config(&format!("page {{ color = \"{color}\" }}"));
            assert_eq!(page(&config).unwrap().site.color, color);
        }
        assert_eq!(
            page(&config("port = 1")).unwrap().site.color,
            Site::COLORS[0]
        );
        assert!(page(&config("page { enabled = false }")).is_none());
    }

    #[test]
    fn the_host_of_the_page_is_known() {
        let hosts = |rest: &str| {
            let text = format!(
                "security {{ hosts = [\"a\"] }}\npage {{\n url = \"https://b:8443\"\n{rest} }}"
            );
            api_browsers(&config(&text)).hosts
        };
        assert_eq!(hosts(""), ["a", "b"]);
        assert_eq!(hosts("enabled = false\n"), ["a"]);
    }
}
