//! `cts config validate` and `dump`: a configuration without running anything. Consul and Terraform are not
//! contacted.

use std::path::PathBuf;

use cts_config::{ConfigError, Severity};
use cts_runtime::ProcessEnv;
use serde_json::json;

use crate::arguments::DumpFormat;
use crate::configuration::in_context;
use crate::error::CommandError;
use crate::exit_code::{EXIT_MISSING, EXIT_UNUSABLE};
use crate::output::{print, say};

/// Runs `validate` and returns the exit code. Problems go to standard error unless they are the result.
pub(crate) fn validate(
    paths: &[PathBuf],
    as_json: bool,
    process_env: &ProcessEnv,
) -> Result<u8, CommandError> {
    if paths.is_empty() && !as_json {
        return Ok(CommandError::NoConfiguration.report());
    }
    let report = in_context(process_env, |context| cts_config::check(paths, context));
    let valid = report.count(Severity::Error) == 0;
    if as_json {
        let document = json!({ "valid": valid, "problems": report });
        print(&format!("{document:#}\n"))?;
    } else {
        if !report.is_empty() {
            say(&report.render());
        }
        if valid {
            print("The configuration is valid.\n")?;
        }
    }
    Ok(match valid {
        true => 0,
        false if paths.is_empty() => EXIT_MISSING,
        false => EXIT_UNUSABLE,
    })
}

/// Runs `dump` and returns the exit code.
pub(crate) fn dump(
    paths: &[PathBuf],
    format: DumpFormat,
    process_env: &ProcessEnv,
) -> Result<u8, CommandError> {
    if paths.is_empty() {
        return Ok(CommandError::NoConfiguration.report());
    }
    let loaded = match in_context(process_env, |context| cts_config::load(paths, context)) {
        Ok(loaded) => loaded,
        Err(ConfigError::Problems(report)) => {
            say(&report.render());
            return Ok(EXIT_UNUSABLE);
        }
        Err(error) => {
            if let ConfigError::NothingFound(warnings) = &error
                && !warnings.is_empty()
            {
                say(&warnings.render());
            }
            say(&format!("error: {error}"));
            return Ok(EXIT_UNUSABLE);
        }
    };
    let warnings = loaded.all_warnings();
    if !warnings.is_empty() {
        say(&warnings.render());
    }
    let text = match format {
        DumpFormat::Hcl => cts_config::dump(&loaded.config),
        DumpFormat::Json => format!("{:#}", cts_config::dump_json(&loaded.config)),
    };
    print(&format!("{}\n", text.trim_end()))?;
    Ok(0)
}
