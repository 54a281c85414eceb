//! The configuration that a command line names.

use cts_config::{Config, ConfigError, LoadContext, Loaded, SecurityConfig};
use cts_core::callers::ServiceRole;
use cts_rpc::ServerRule;
use cts_runtime::ProcessEnv;

use crate::arguments::Configuration;
use crate::error::CommandError;
use crate::output::say;

/// The configuration at the given paths; warnings go to standard error.
pub fn load(
    configuration: &Configuration,
    process_env: &ProcessEnv,
) -> Result<Config, CommandError> {
    let loaded = read(configuration, process_env).map_err(CommandError::Configuration)?;
    let warnings = loaded.all_warnings();
    if !warnings.is_empty() {
        say(&warnings.render());
    }
    Ok(loaded.config)
}

/// The configuration at these paths with its warnings, or its problems. Prints nothing.
pub fn read(
    configuration: &Configuration,
    process_env: &ProcessEnv,
) -> Result<Loaded, ConfigError> {
    in_context(process_env, |context| {
        cts_config::load(&configuration.paths, context)
    })
}

/// The rule of a client for servers with one of these roles; `None` if the roles of servers do not count.
pub fn server_rule(security: &SecurityConfig, roles: &'static [ServiceRole]) -> Option<ServerRule> {
    security.checks_servers().then(|| ServerRule {
        roles,
        domain: security.domain.clone(),
        required: security.requires_server_roles(),
    })
}

/// Reads files of configuration as this process sees them.
pub(crate) fn in_context<T>(
    process_env: &ProcessEnv,
    read: impl FnOnce(&LoadContext<'_>) -> T,
) -> T {
    read(&LoadContext {
        environment: &process_env.text_environment(),
        current_dir: &process_env.current_dir,
        hostname: &process_env.hostname,
        now: process_env.clock.now(),
    })
}
