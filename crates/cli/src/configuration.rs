//! The configuration that a command line names.

use cts_config::{Config, LoadContext, Loaded};
use cts_runtime::ProcessEnv;

use crate::arguments::Configuration;
use crate::error::CommandError;
use crate::output::say;

/// The configuration at the given paths; warnings go to standard error.
pub fn load(
    configuration: &Configuration,
    process_env: &ProcessEnv,
) -> Result<Config, CommandError> {
    load_with_warnings(configuration, process_env).map(|loaded| loaded.config)
}

/// As [`load`], with the warnings for a log.
pub fn load_with_warnings(
    configuration: &Configuration,
    process_env: &ProcessEnv,
) -> Result<Loaded, CommandError> {
    let loaded = in_context(process_env, |context| {
        cts_config::load(&configuration.paths, context)
    });
    let loaded = loaded.map_err(CommandError::Configuration)?;
    if !loaded.warnings.is_empty() {
        say(&loaded.warnings.render());
    }
    Ok(loaded)
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

/// Reports that `cts config COMMAND` was called without a configuration, and gives the exit code.
pub fn refuse_no_configuration(command: &str) -> u8 {
    say(&format!(
        "no configuration was given\n\
         Name a file or directory: cts config {command} -config-file cts.hcl"
    ));
    CommandError::NoConfiguration.exit_code()
}
