//! A process from its arguments to its exit code.

use std::ffi::OsString;
use std::io::{ErrorKind, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use cts_config::{Config, ConfigError, LoadContext};
use cts_core::Chain;
use cts_runtime::{LogFormat, StopSignals, init_log};
use cts_terraform::guard::GuardSettings;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::arguments::{ApiAddress, Arguments, Command, Configuration, with_two_dashes};
use crate::embedded::{Embedded, Sockets};
use crate::failure::{EXIT_SLOW_END, EXIT_USAGE, Failure};
use crate::links::{Links, listen};
use crate::parts::GUARD_COMMAND;
use crate::surroundings::Surroundings;
use crate::{migrate, settings, single, workers};

/// An end by a signal that takes longer has its own exit code.
pub(crate) const GRACEFUL_END: Duration = Duration::from_secs(10);

/// Which executable this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `cts`, whose first argument is a command.
    All,
    /// `cts-watcher`.
    Watcher,
    /// `cts-scheduler`.
    Scheduler,
    /// `cts-worker`.
    Worker,
    /// `cts-gateway`.
    Gateway,
}

/// Runs this process as `program` and gives its exit code. Called once, from `main`.
pub fn run_program(program: Program) -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|first| first == GUARD_COMMAND) {
        return guard(arguments.get(2));
    }
    let command = match program {
        Program::All => None,
        Program::Watcher => Some("watcher"),
        Program::Scheduler => Some("scheduler"),
        Program::Worker => Some("worker"),
        Program::Gateway => Some("gateway"),
    };
    if let Some(command) = command {
        arguments.insert(1, command.into());
    }
    let command = match Arguments::try_parse_from(with_two_dashes(arguments)) {
        Ok(arguments) => arguments.command,
        Err(error) => {
            // Nobody may be reading any more.
            drop(error.print());
            return if error.use_stderr() {
                ExitCode::from(EXIT_USAGE)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let runtime = match tokio::runtime::Runtime::new().map_err(Failure::Surroundings) {
        Ok(runtime) => runtime,
        Err(failure) => return fail(&failure),
    };
    // Who drains, or does one thing and ends, takes the time that it takes.
    let has_to_hurry = !matches!(
        command,
        Command::Worker { .. } | Command::Workers(_) | Command::Migrate(_)
    );
    let is_service = command.is_service();
    let shutdown = CancellationToken::new();
    let began_to_end = runtime.block_on(async {
        let mut end = None;
        let result = {
            let run = run(command, shutdown.clone());
            tokio::pin!(run);
            loop {
                tokio::select! {
                    result = &mut run => break result,
                    () = shutdown.cancelled(), if end.is_none() => end = Some(Instant::now()),
                }
            }
        };
        (result, end.map(|begun| begun.elapsed()))
    });
    match began_to_end {
        (Err(failure), _) => fail(&failure),
        (Ok(()), Some(took)) if has_to_hurry && took > GRACEFUL_END => {
            tracing::warn!(target: "cli", ?took, "graceful shutdown took long");
            ExitCode::from(EXIT_SLOW_END)
        }
        (Ok(()), _) => {
            if is_service {
                tracing::info!(target: "cli", "graceful shutdown complete");
            }
            ExitCode::SUCCESS
        }
    }
}

/// The guard process: no runtime, no log, no configuration.
fn guard(worker: Option<&OsString>) -> ExitCode {
    let Some(worker) = worker.and_then(|worker| worker.to_str()) else {
        say("guard-terraform is started by workers");
        return ExitCode::from(EXIT_USAGE);
    };
    let settings = GuardSettings::new(worker);
    match cts_terraform::guard::serve(std::io::stdin(), std::io::stderr(), settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {}", Chain(&error)));
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command, shutdown: CancellationToken) -> Result<(), Failure> {
    let surroundings = Surroundings::of_this_process().map_err(Failure::Surroundings)?;
    let command = match command {
        Command::Workers(command) => return workers::run(command, &surroundings).await,
        Command::Migrate(command) => return migrate::run(command, &surroundings).await,
        service => service,
    };
    if command.configuration().paths.is_empty() {
        return Err(Failure::NoConfiguration);
    }
    let config = load(command.configuration(), &surroundings)?;
    let level = settings::log_level(config.log_level);
    // A second log in one process is no reason not to work.
    drop(init_log(
        level,
        LogFormat::Text,
        Arc::clone(&surroundings.clock),
    ));
    let mut signals = StopSignals::take_over().map_err(Failure::Surroundings)?;
    tracing::info!(target: "cli", version = env!("CARGO_PKG_VERSION"), "starting cts");
    tracing::debug!(target: "cli", ?config, "configuration");

    let stop = CancellationToken::new();
    let mut work = std::pin::pin!(begin(command, &config, &surroundings, &shutdown, &stop));
    loop {
        tokio::select! {
            result = &mut work => return result,
            signal = signals.next() => {
                if shutdown.is_cancelled() {
                    tracing::info!(target: "cli", signal, "second signal received");
                    stop.cancel();
                } else {
                    tracing::info!(target: "cli", signal, "signal received to initiate graceful shutdown");
                    shutdown.cancel();
                }
            }
        }
    }
}

async fn begin(
    command: Command,
    config: &Config,
    surroundings: &Surroundings,
    shutdown: &CancellationToken,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let end = shutdown.clone();
    match command {
        Command::Start {
            api, grpc_address, ..
        } => {
            let links = Links::new(&config.services).await?;
            let sockets = Sockets {
                api: listen_for_api(&api, config).await?,
                grpc: match grpc_address {
                    Some(address) => Some(links.listen(address).await?),
                    None => None,
                },
            };
            let prepared = tokio::select! {
                prepared = Embedded::prepare(config, surroundings, sockets) => prepared?,
                // Nothing has begun that would have to be finished.
                () = shutdown.cancelled() => return Ok(()),
            };
            prepared.run(end).await
        }
        Command::Watcher { grpc_address, .. } => {
            single::run_watcher(config, grpc_address, end).await
        }
        Command::Scheduler {
            grpc_address,
            watchers,
            ..
        } => single::run_scheduler(config, surroundings, &watchers, grpc_address, end).await,
        Command::Worker {
            grpc_address,
            schedulers,
            working_dir,
            ..
        } => {
            single::run_worker(
                config,
                surroundings,
                &schedulers.schedulers,
                working_dir,
                grpc_address,
                end,
                stop.clone(),
            )
            .await
        }
        Command::Gateway {
            api,
            grpc_address,
            schedulers,
            ..
        } => {
            let api = listen_for_api(&api, config).await?;
            single::run_gateway(config, &schedulers.schedulers, api, grpc_address, end).await
        }
        // Answered before a service is begun.
        Command::Workers(_) | Command::Migrate(_) => Ok(()),
    }
}

/// The configuration at the given paths; warnings are said.
pub(crate) fn load(
    configuration: &Configuration,
    surroundings: &Surroundings,
) -> Result<Config, Failure> {
    let loaded = cts_config::load(
        &configuration.paths,
        &LoadContext {
            environment: &surroundings.text_environment(),
            current_dir: &surroundings.current_dir,
            hostname: &surroundings.hostname,
        },
    )
    .map_err(Failure::Configuration)?;
    let (config, warnings) = loaded.usable().map_err(Failure::Configuration)?;
    if !warnings.is_empty() {
        say(&warnings.render());
    }
    Ok(config)
}

/// Listens for the API on the address asked for, else on every address of the host.
async fn listen_for_api(api: &ApiAddress, config: &Config) -> Result<TcpListener, Failure> {
    let every = |ip: IpAddr| SocketAddr::new(ip, config.port);
    if let Some(ip) = api.bind_address {
        return listen(every(ip)).await;
    }
    // Unspecified in version 6 means every address, those of version 4 included; a host without
    // version 6 has to be asked for version 4.
    match listen(every(Ipv6Addr::UNSPECIFIED.into())).await {
        Err(Failure::Listen { source, .. }) if source.kind() != ErrorKind::AddrInUse => {
            listen(every(Ipv4Addr::UNSPECIFIED.into())).await
        }
        listening => listening,
    }
}

/// Says why the process ends and gives its exit code.
fn fail(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Configuration(ConfigError::Problems(report)) => say(&report.render()),
        Failure::Configuration(ConfigError::Unsupported(report)) => {
            say(&report.render());
            say(&format!("error: {}", Chain(failure)));
        }
        Failure::Configuration(ConfigError::NothingFound(warnings)) => {
            if !warnings.is_empty() {
                say(&warnings.render());
            }
            say(&format!("error: {}", Chain(failure)));
        }
        Failure::NoConfiguration => say("cts cannot start: no configuration was given\n\
             Name a file or directory: cts start -config-file cts.hcl\n\
             More: cts start --help"),
        other => say(&format!("error: {}", Chain(other))),
    }
    ExitCode::from(failure.exit_code())
}

/// Writes for the person who started the program.
pub(crate) fn say(text: &str) {
    drop(writeln!(std::io::stderr(), "{}", text.trim_end()));
}
