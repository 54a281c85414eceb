//! `cts config`: what the configuration says, without running anything.
//!
//! Neither Consul nor Terraform is asked; `diff` and `apply` use the database.

mod apply;
mod arguments;
mod diff;

use std::io::Write as _;
use std::path::PathBuf;

use cts_config::{ConfigError, LoadContext, Report, Severity};
use serde_json::json;

pub(crate) use self::arguments::{ConfigCommand, DumpFormat};

use self::apply::Apply;
use crate::failure::Failure;
use crate::output::say;
use crate::process_env::ProcessEnv;

const VALID: u8 = 0;

/// Runs the command and returns the exit code. Prints everything itself: results to standard output, problems
/// to standard error unless they are the result.
pub(crate) async fn run(command: ConfigCommand, process_env: &ProcessEnv) -> Result<u8, Failure> {
    let environment = process_env.text_environment();
    let context = LoadContext {
        environment: &environment,
        current_dir: &process_env.current_dir,
        hostname: &process_env.hostname,
        now: process_env.clock.now(),
    };
    match command {
        ConfigCommand::Validate {
            configuration,
            json,
        } => Ok(validate(&configuration.paths, json, &context)),
        ConfigCommand::Dump {
            configuration,
            output,
            json,
        } => {
            let format = if json { DumpFormat::Json } else { output };
            Ok(dump(&configuration.paths, format, &context))
        }
        ConfigCommand::Diff {
            configuration,
            store,
            output,
        } => diff::run(&configuration, store.as_deref(), output, process_env).await,
        ConfigCommand::Apply {
            configuration,
            store,
            prune,
            auto_approve,
        } => {
            let apply = Apply {
                configuration: &configuration,
                store: store.as_deref(),
                prune,
                auto_approve,
            };
            apply::run(apply, process_env).await
        }
    }
}

fn validate(paths: &[PathBuf], as_json: bool, context: &LoadContext<'_>) -> u8 {
    if paths.is_empty() && !as_json {
        return refuse_nothing("validate");
    }
    let report = cts_config::check(paths, context);
    let valid = report.count(Severity::Error) == 0;
    if as_json {
        print(&format!(
            "{:#}",
            json!({ "valid": valid, "problems": report })
        ));
    } else {
        if !report.is_empty() {
            say(&report.render());
        }
        if valid {
            print(verdict(&report));
        }
    }
    match valid {
        true => VALID,
        false if paths.is_empty() => Failure::NoConfiguration.exit_code(),
        false => invalid(),
    }
}

fn verdict(report: &Report) -> &'static str {
    if report.count(Severity::Unsupported) == 0 {
        "The configuration is valid."
    } else {
        "The configuration is valid, but this version of cts cannot run all of it yet."
    }
}

fn dump(paths: &[PathBuf], format: DumpFormat, context: &LoadContext<'_>) -> u8 {
    if paths.is_empty() {
        return refuse_nothing("dump");
    }
    let loaded = match cts_config::load(paths, context) {
        Ok(loaded) => loaded,
        Err(ConfigError::Problems(report) | ConfigError::Unsupported(report)) => {
            say(&report.render());
            return invalid();
        }
        Err(error @ ConfigError::NothingFound(_)) => {
            if let ConfigError::NothingFound(warnings) = &error
                && !warnings.is_empty()
            {
                say(&warnings.render());
            }
            say(&format!("error: {error}"));
            return invalid();
        }
    };
    for report in [&loaded.warnings, &loaded.unsupported] {
        if !report.is_empty() {
            say(&report.render());
        }
    }
    match format {
        DumpFormat::Hcl => print(&cts_config::dump(&loaded.config)),
        DumpFormat::Json => print(&format!("{:#}", cts_config::dump_json(&loaded.config))),
    }
    VALID
}

fn refuse_nothing(command: &str) -> u8 {
    say(&format!(
        "no configuration was given\n\
         Name a file or directory: cts config {command} -config-file cts.hcl"
    ));
    Failure::NoConfiguration.exit_code()
}

/// The exit code of everything that is wrong with the files.
fn invalid() -> u8 {
    Failure::Configuration(ConfigError::Problems(Report::default())).exit_code()
}

/// Writes a result. There may be no reader any more.
fn print(text: &str) {
    drop(writeln!(std::io::stdout(), "{}", text.trim_end()));
}
