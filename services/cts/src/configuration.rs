//! The configuration that a command line names.

use cts_config::{Config, LoadContext};

use crate::cli::groups::Configuration;
use crate::failure::Failure;
use crate::output::say;
use crate::process_env::ProcessEnv;

/// The configuration at the given paths; warnings go to standard error.
pub(crate) fn load(
    configuration: &Configuration,
    process_env: &ProcessEnv,
) -> Result<Config, Failure> {
    let loaded = cts_config::load(
        &configuration.paths,
        &LoadContext {
            environment: &process_env.text_environment(),
            current_dir: &process_env.current_dir,
            hostname: &process_env.hostname,
            now: process_env.clock.now(),
        },
    )
    .map_err(Failure::Configuration)?;
    let (config, warnings) = loaded.usable().map_err(Failure::Configuration)?;
    if !warnings.is_empty() {
        say(&warnings.render());
    }
    Ok(config)
}
