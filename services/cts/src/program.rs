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
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::arguments::{ApiAddress, Arguments, Command, Configuration, with_two_dashes};
use crate::embedded::{Embedded, Sockets};
use crate::failure::{EXIT_SLOW_END, EXIT_USAGE, Failure};
use crate::settings;
use crate::single;
use crate::surroundings::Surroundings;

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
        (Ok(()), Some(took)) if took > GRACEFUL_END => {
            tracing::warn!(target: "cli", ?took, "graceful shutdown took long");
            ExitCode::from(EXIT_SLOW_END)
        }
        (Ok(()), _) => {
            tracing::info!(target: "cli", "graceful shutdown complete");
            ExitCode::SUCCESS
        }
    }
}

async fn run(command: Command, shutdown: CancellationToken) -> Result<(), Failure> {
    let surroundings = Surroundings::of_this_process().map_err(Failure::Surroundings)?;
    let config = load(command.configuration(), &surroundings)?;
    let level = settings::log_level(config.log_level);
    // A second log in one process is no reason not to work.
    drop(init_log(
        level,
        LogFormat::Text,
        Arc::clone(&surroundings.clock),
    ));
    let signals = StopSignals::take_over().map_err(Failure::Surroundings)?;
    tracing::info!(target: "cli", version = env!("CARGO_PKG_VERSION"), "starting cts");
    tracing::debug!(target: "cli", ?config, "configuration");

    let stop = shutdown.clone();
    let work = begin(command, &config, &surroundings, &stop);
    tokio::pin!(work);
    let mut listening = std::pin::pin!(signals.cancel_on_first(shutdown));
    let mut heard = false;
    loop {
        tokio::select! {
            result = &mut work => return result,
            () = &mut listening, if !heard => heard = true,
        }
    }
}

async fn begin(
    command: Command,
    config: &Config,
    surroundings: &Surroundings,
    shutdown: &CancellationToken,
) -> Result<(), Failure> {
    let end = shutdown.clone();
    match command {
        Command::Start {
            api, grpc_address, ..
        } => {
            let sockets = Sockets {
                api: listen_for_api(&api, config).await?,
                grpc: match grpc_address {
                    Some(address) => Some(listen(address).await?),
                    None => None,
                },
            };
            let prepared = tokio::select! {
                prepared = Embedded::prepare(config, surroundings, sockets) => prepared?,
                // Nothing has begun that would have to be finished.
                () = shutdown.cancelled() => return Ok(()),
            };
            tracing::info!(target: "ctrl", tasks = config.tasks.len(), "executing all tasks, then watching for changes");
            prepared.run(end).await
        }
        Command::Watcher { grpc_address, .. } => {
            single::run_watcher(config, listen(grpc_address).await?, end).await
        }
        Command::Scheduler {
            grpc_address,
            watcher,
            ..
        } => {
            let grpc = listen(grpc_address).await?;
            single::run_scheduler(config, surroundings, &watcher, grpc, end).await
        }
        Command::Worker {
            grpc_address,
            scheduler,
            ..
        } => {
            let grpc = listen(grpc_address).await?;
            single::run_worker(config, surroundings, &scheduler, grpc, end).await
        }
        Command::Gateway {
            api,
            grpc_address,
            scheduler,
            ..
        } => {
            let api = listen_for_api(&api, config).await?;
            single::run_gateway(&scheduler, api, listen(grpc_address).await?, end).await
        }
    }
}

fn load(configuration: &Configuration, surroundings: &Surroundings) -> Result<Config, Failure> {
    if configuration.paths.is_empty() {
        return Err(Failure::NoConfiguration);
    }
    let loaded = cts_config::load(
        &configuration.paths,
        &LoadContext {
            environment: &surroundings.text_environment(),
            current_dir: &surroundings.current_dir,
            hostname: &surroundings.hostname,
        },
    )
    .map_err(Failure::Configuration)?;
    if !loaded.warnings.is_empty() {
        say(&loaded.warnings.render());
    }
    Ok(loaded.config)
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

async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|source| Failure::Listen { address, source })
}

/// Says why the process ends and gives its exit code.
fn fail(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Configuration(ConfigError::Problems(report)) => say(&report.render()),
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
fn say(text: &str) {
    drop(writeln!(std::io::stderr(), "{}", text.trim_end()));
}
