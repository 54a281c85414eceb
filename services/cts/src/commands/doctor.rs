//! `cts doctor`: checks of the surroundings that a configuration needs (docs/cli.md#cts-doctor).
//!
//! All checks run at once, each with a deadline. The checks write nothing.

mod certificates;
mod clock;
mod configuration;
mod consul;
mod database;
mod engine;
mod finding;
mod listener;
mod machine;
mod modules;
mod needs;
mod peers;
mod rights;
mod show;
mod states;
mod subject;

use std::time::Duration;

use cts_cli::{CommandError, Doctor, print, read};
use cts_config::Config;
use cts_runtime::ProcessEnv;
use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use tokio::time::timeout;

use self::finding::Finding;
use self::needs::Needs;
use self::subject::Subject;
use crate::failure::Failure;
use crate::services::unsafe_settings::{Service, Uses};

/// Time for each check.
const DEADLINE: Duration = Duration::from_secs(5);

/// Dependencies of the service that the command is about.
fn uses(service: Service, needs: Needs, config: &Config) -> Uses {
    let uses = Uses::of(service, config);
    Uses {
        database: false,
        services: uses.services || needs.services,
        grpc: uses.grpc || needs.services,
        ..uses
    }
}

/// Runs the command and returns the exit code, which is the code of the worst finding.
pub(crate) async fn run(doctor: Doctor, process_env: &ProcessEnv) -> Result<u8, Failure> {
    if doctor.configuration.paths.is_empty() {
        return Ok(CommandError::NoConfiguration.report());
    }
    let (mut findings, config) = match read(&doctor.configuration, process_env) {
        Ok(loaded) => {
            let mut findings = vec![configuration::loaded(&loaded)];
            findings.extend(configuration::modules(&loaded));
            (findings, Some(loaded.config))
        }
        Err(error) => (vec![configuration::refused(&error)], None),
    };
    if let Some(config) = &config {
        let needs = Needs::of(doctor.role, config);
        let service = Service::of_checks(&doctor, config);
        let subject = Subject {
            config,
            needs,
            uses: uses(service, needs, config),
            grpc: service.grpc(),
            server_role: service.server_role(),
            process_env,
        };
        findings.extend(configuration::settings(subject));
        findings.extend(configuration::files(subject, &doctor.configuration.paths));
        findings.extend(Box::pin(outside(subject)).await);
    }
    let output = doctor.output.output;
    let width = doctor.wide.width();
    print(&output.text(
        || show::text(&findings, width),
        || show::document(&findings),
    ))?;
    Ok(finding::exit_code(&findings))
}

/// The checks of everything outside of the configuration, in the order of the table.
async fn outside(subject: Subject<'_>) -> Vec<Finding> {
    let checks: Vec<BoxFuture<'_, Vec<Finding>>> = vec![
        within("consul", consul::reach(subject)).boxed(),
        within("consul version", consul::version(subject)).boxed(),
        within("consul token", consul::token(subject)).boxed(),
        within("consul keys", consul::keys(subject)).boxed(),
        within("consul rights", rights::check(subject)).boxed(),
        within("database", database::check(subject)).boxed(),
        within("terraform", engine::check(subject)).boxed(),
        within("states", states::check(subject)).boxed(),
        within("modules", modules::check(subject)).boxed(),
        within("listener", listener::check(subject)).boxed(),
        within("services", peers::check(subject)).boxed(),
        within("certificates", certificates::check(subject)).boxed(),
        within("machine", machine::check(subject)).boxed(),
    ];
    join_all(checks).await.into_iter().flatten().collect()
}

/// The findings of a check, or a finding that the check took too long.
async fn within(check: &'static str, checking: impl Future<Output = Vec<Finding>>) -> Vec<Finding> {
    match timeout(DEADLINE, checking).await {
        Ok(findings) => findings,
        Err(_elapsed) => vec![Finding::error(
            check,
            format!("no answer within {DEADLINE:?}"),
            "check the address and the network between this machine and the server",
        )],
    }
}
