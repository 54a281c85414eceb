//! From the block `security` to the settings of access (docs/access.md).

use std::sync::Arc;

use cts_access::{IssuerSettings, Issuers};
use cts_config::{Config, OidcConfig, SecurityConfig};
use cts_gateway::AccessOptions;
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
