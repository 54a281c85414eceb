//! Unsafe settings of a service, reported once at its start (docs/configuration.md#what-is-not-safe).

mod conditions;
mod files;
mod uses;

use cts_cli::ServiceCommand;
use cts_config::Config;
use cts_runtime::ProcessEnv;

pub(crate) use self::conditions::of_settings;
pub(crate) use self::files::open_secret_files;
pub(crate) use self::uses::{Service, Uses};
use crate::failure::Failure;
use crate::services::own_certificate::{OwnCertificate, own_certificate};

/// Logs one warning for each unsafe setting; with `security.strict` all warnings are one failure. `readable` holds
/// those found before the log began.
pub(crate) fn check(
    command: &ServiceCommand,
    config: &Config,
    process_env: &ProcessEnv,
    readable: Vec<String>,
) -> Result<(), Failure> {
    let files = command.options().configuration.paths.iter();
    let files = files.map(|path| process_env.current_dir.join(path));
    let mut found = readable;
    let service = Service::of_command(command, config);
    found.extend(of_settings(Uses::of(service, config), config));
    found.extend(files::of_files(files, config));
    found.extend(of_certificate(service, config));
    if process_env.is_root {
        found.push(
            "cts runs as root, and so does what its modules start: give it a user of its own"
                .to_owned(),
        );
    }
    if config.security.strict && !found.is_empty() {
        return Err(Failure::NotSafe(found));
    }
    for text in found {
        tracing::warn!(target: "cli", "not safe: {text}");
    }
    Ok(())
}

/// A certificate by which the other services cannot recognise this service.
fn of_certificate(service: Service, config: &Config) -> Option<String> {
    match own_certificate(service.server_role()?, config)? {
        OwnCertificate::Proven(_) => None,
        OwnCertificate::Unproven(text) => Some(text),
    }
}
