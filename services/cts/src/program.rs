//! A process from its arguments to its exit code.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use cts_cli::{
    ApiAddress, CommandError, EXIT_SLOW_END, EXIT_USAGE, Gateway, InvokedAs, Scheduler,
    ServiceCommand, ServiceRole, Start, Watcher, Worker, read, say,
};
use cts_config::Config;
use cts_core::Chain;
use cts_runtime::SystemClock;
use cts_runtime::{
    LogError, LogFormat, LogRelay, LogSettings, Order, ProcessEnv, StopSignals, init_log,
};
use cts_terraform::guard::GuardSettings;
use cts_worker::ShutdownTokens;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::commands::pass::{self, ProgressLines};
use crate::entry::{Service, enter};
use crate::failure::{Failure, GRACEFUL_END};
use crate::first_lines::{
    log_problems, log_role, warn_of_idle_options, warn_of_overridden_buffers,
};
use crate::guard_lines::GuardLines;
use crate::listeners;
use crate::private_environment::refuse_inspection;
use crate::services::connections::{Links, Socket, listen};
use crate::services::embedded::{Embedded, Sockets, StartMode, StartOptions};
use crate::services::reload::{Reloads, settings_of};
use crate::services::telemetry::Observation;
use crate::services::wiring::AbsentPeers;
use crate::services::wiring::{GUARD_COMMAND, JSON};
use crate::services::{settings, single, unsafe_settings};
use crate::time_zone;

/// Runs this process as the program that it was invoked as, and returns its exit code. Called once, from `main`.
pub fn run_program() -> ExitCode {
    let mut words = std::env::args_os();
    let called = words.next().unwrap_or_default();
    let words: Vec<OsString> = words.collect();
    if words.first().is_some_and(|first| first == GUARD_COMMAND) {
        return guard(words.get(1), words.get(2));
    }
    // Guards stay readable: they are found by their environment, and hold no secrets.
    let inspection = refuse_inspection();
    let Service {
        command,
        mut process_env,
        readable,
        is_deprecated,
        runtime,
    } = match enter(&called, &words, inspection) {
        Ok(service) => service,
        Err(code) => return ExitCode::from(code),
    };
    process_env.raise_descriptors();
    // A worker drains, and takes all the time that it needs.
    let has_to_hurry = !matches!(command, ServiceCommand::Worker(_));
    let shutdown = CancellationToken::new();
    let began_to_end = runtime.block_on(async {
        let mut end = None;
        let result = {
            let beginning = Beginning {
                readable,
                is_deprecated,
            };
            let run = run(command, &process_env, beginning, shutdown.clone());
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
        (Err(failure), _) => {
            let clock = Arc::clone(&process_env.clock);
            ExitCode::from(failure.end(process_env.log_format, clock))
        }
        (Ok(()), Some(took)) if has_to_hurry && took > GRACEFUL_END => {
            tracing::warn!(target: "cli", ?took, "graceful shutdown took long");
            ExitCode::from(EXIT_SLOW_END)
        }
        (Ok(()), Some(_) | None) => {
            tracing::info!(target: "cli", "graceful shutdown");
            ExitCode::SUCCESS
        }
    }
}

/// Facts about the process from before its log began.
struct Beginning {
    /// Parts of the process that other processes can read.
    readable: Vec<String>,
    /// Whether the command line is of a deprecated form.
    is_deprecated: bool,
}

/// The guard process: no runtime, no configuration. Its log has the format of its worker's.
fn guard(worker: Option<&OsString>, format: Option<&OsString>) -> ExitCode {
    let Some(worker) = worker.and_then(|worker| worker.to_str()) else {
        say("guard-terraform is started by workers");
        return ExitCode::from(EXIT_USAGE);
    };
    let format = match format.and_then(|format| format.to_str()) {
        Some(JSON) => LogFormat::Json,
        _ => LogFormat::Text,
    };
    let log = LogSettings {
        format,
        ..LogSettings::default()
    };
    if let Err(error) = init_log(log, Box::new(std::io::stderr()), Arc::new(SystemClock)) {
        say(&format!("error: {}", Chain(&error)));
        return ExitCode::FAILURE;
    }
    let settings = GuardSettings::new(worker);
    let lines = GuardLines::new(worker);
    match cts_terraform::guard::serve(std::io::stdin(), lines, settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(target: "guard", error = %Chain(&error), "the guard ends");
            ExitCode::FAILURE
        }
    }
}

async fn run(
    command: ServiceCommand,
    process_env: &ProcessEnv,
    beginning: Beginning,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    let options = command.options();
    if options.configuration.paths.is_empty() {
        return Err(CommandError::NoConfiguration.into());
    }
    let loaded = read(&options.configuration, process_env);
    let loaded = loaded.map_err(CommandError::Configuration)?;
    let warnings = loaded.all_warnings();
    let mut config = loaded.config;
    let log = settings::log(&config, process_env.log_format);
    let relay = log.relay.clone();
    let lines = match pass_mode(&command) {
        // Moving lines would wipe out what Terraform prints between them.
        Some(_) if !config.driver.log && process_env.log_format == LogFormat::Text => {
            ProgressLines::of_standard_error()
        }
        Some(_) | None => None,
    };
    let console: Box<dyn Write + Send> = match &lines {
        Some(lines) => Box::new(lines.writer()),
        None => Box::new(std::io::stderr()),
    };
    match init_log(log, console, Arc::clone(&process_env.clock)) {
        // A second log in one process does not stop the program.
        Ok(()) | Err(LogError::Installed(_)) => {}
        Err(LogError::Syslog(error)) => return Err(Failure::Log(error)),
    }
    let reloads_files =
        pass_mode(&command).is_none() && process_env.program != InvokedAs::Original.name();
    let mut signals = StopSignals::take_over(reloads_files).map_err(Failure::ProcessEnv)?;
    let begun_with = settings_of(&mut config);
    let files = {
        let (files, process_env) = (options.configuration.clone(), process_env.clone());
        move || read(&files, &process_env)
    };
    tracing::info!(target: "cli", "{}", env!("CARGO_PKG_VERSION"));
    tracing::debug!(target: "cli", ?config, "configuration");
    if beginning.is_deprecated {
        tracing::warn!(target: "cli", "starting without a command is deprecated: write `start` before the options");
    }
    log_problems(&warnings);
    log_role(&command, &config);
    warn_of_idle_options(&command);
    time_zone::warn_of_unknown(process_env);
    if uses_database(&command) {
        config.read_database_url()?;
    }
    unsafe_settings::check(&command, &config, process_env, beginning.readable)?;
    warn_of_overridden_buffers(&command, &config);

    let stop = CancellationToken::new();
    let reloads = Reloads::default();
    let mut reloading = Box::pin(reloads.follow(&begun_with, files));
    let mut work = std::pin::pin!(begin(
        command,
        config,
        process_env,
        (lines, relay),
        reloads.clone(),
        &shutdown,
        &stop
    ));
    loop {
        tokio::select! {
            result = &mut work => return result,
            never = &mut reloading => match never {},
            order = signals.next() => match order {
                Order::Reload => reloads.request(),
                Order::Stop(signal) if shutdown.is_cancelled() => {
                    tracing::info!(target: "cli", signal, "second signal received");
                    stop.cancel();
                }
                Order::Stop(signal) => {
                    tracing::info!(target: "cli", signal, "signal received to initiate graceful shutdown");
                    shutdown.cancel();
                }
            }
        }
    }
}

/// The other services share the configuration, and need no database.
fn uses_database(command: &ServiceCommand) -> bool {
    match command {
        ServiceCommand::Start(_) => pass_mode(command) != Some(StartMode::Inspect),
        ServiceCommand::Scheduler(_) => true,
        ServiceCommand::Watcher(_) | ServiceCommand::Worker(_) | ServiceCommand::Gateway(_) => {
            false
        }
    }
}

/// The requested pass over the tasks instead of a daemon; inspection takes precedence over a single run
/// (docs/cli.md#start).
fn pass_mode(command: &ServiceCommand) -> Option<StartMode> {
    match command {
        ServiceCommand::Start(start) if start.inspect || !start.inspect_task.is_empty() => {
            Some(StartMode::Inspect)
        }
        ServiceCommand::Start(Start { once: true, .. }) => Some(StartMode::Once),
        _ => None,
    }
}

async fn begin(
    command: ServiceCommand,
    config: Config,
    process_env: &ProcessEnv,
    (lines, relay): (Option<ProgressLines>, Option<LogRelay>),
    reloads: Reloads,
    shutdown: &CancellationToken,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let end = shutdown.clone();
    if let (Some(mode), ServiceCommand::Start(start)) = (pass_mode(&command), &command) {
        let options = StartOptions {
            mode,
            reset_storage: start.reset_storage,
            restored: start.restored,
            absent_peers: AbsentPeers::Fail,
        };
        let pass = pass::run(
            options,
            &start.inspect_task,
            config,
            process_env,
            lines,
            end,
        );
        return Box::pin(pass).await;
    }
    let config = &config;
    let grpc_of = |role, given| listeners::of_role(role, given, &config.services.listen);
    match command {
        ServiceCommand::Start(start) => {
            let options = StartOptions {
                mode: StartMode::Daemon,
                reset_storage: start.reset_storage,
                restored: start.restored,
                absent_peers: if start.waits {
                    AbsentPeers::Wait
                } else {
                    AbsentPeers::Fail
                },
            };
            let links = Links::new(&config.services, &config.security).await?;
            let observation =
                Observation::begin(config, process_env, "start", relay, reloads).await?;
            let sockets = Sockets {
                observation,
                api: Some(listen_for_api(&start.api, config).await?),
                page: listen_for_page(config).await?,
                grpc: match start.grpc_address {
                    Some(address) => Some(links.listen(address).await?),
                    None => None,
                },
            };
            let prepared = tokio::select! {
                prepared = Embedded::prepare(config, process_env, sockets, options) => prepared?,
                // No work has begun that would have to be finished.
                () = shutdown.cancelled() => return Ok(()),
            };
            prepared.run(end).await
        }
        ServiceCommand::Watcher(Watcher { grpc_address, .. }) => {
            let observation =
                Observation::begin(config, process_env, "watcher", relay, reloads).await?;
            let grpc = grpc_of(ServiceRole::Watcher, grpc_address);
            single::run_watcher(config, process_env, grpc, observation, end).await
        }
        ServiceCommand::Scheduler(Scheduler {
            grpc_address,
            watchers,
            ..
        }) => {
            let observation =
                Observation::begin(config, process_env, "scheduler", relay, reloads).await?;
            let running = single::run_scheduler(
                config,
                process_env,
                &watchers,
                grpc_of(ServiceRole::Scheduler, grpc_address),
                observation,
                end,
            );
            Box::pin(running).await
        }
        ServiceCommand::Worker(Worker {
            grpc_address,
            schedulers,
            working_dir,
            ..
        }) => {
            let observation =
                Observation::begin(config, process_env, "worker", relay, reloads).await?;
            single::run_worker(
                config,
                process_env,
                &schedulers.schedulers,
                working_dir,
                grpc_of(ServiceRole::Worker, grpc_address),
                observation,
                ShutdownTokens {
                    drain: end,
                    stop: stop.clone(),
                },
            )
            .await
        }
        ServiceCommand::Gateway(Gateway {
            api,
            grpc_address,
            schedulers,
            ..
        }) => {
            let api = listen_for_api(&api, config).await?;
            let page = listen_for_page(config).await?;
            let schedulers = &schedulers.schedulers;
            let observation =
                Observation::begin(config, process_env, "gateway", relay, reloads).await?;
            single::run_gateway(
                config,
                process_env,
                schedulers,
                (api, page),
                grpc_of(ServiceRole::Gateway, grpc_address),
                observation,
                end,
            )
            .await
        }
    }
}

/// Listens for the page, if it has a listener of its own.
async fn listen_for_page(config: &Config) -> Result<Option<TcpListener>, Failure> {
    match config.page.listen.filter(|_address| config.page.enabled) {
        Some(address) => Ok(Some(listen(Socket::Page, address).await?)),
        None => Ok(None),
    }
}

/// Listens for the API on the requested address, else on every address of the host.
async fn listen_for_api(api: &ApiAddress, config: &Config) -> Result<TcpListener, Failure> {
    let every = |ip: IpAddr| SocketAddr::new(ip, config.port);
    if let Some(ip) = api.bind_address {
        return listen(Socket::Api, every(ip)).await;
    }
    // Unspecified in version 6 means every address, also of version 4; a host without version 6 has to be
    // asked for version 4.
    match listen(Socket::Api, every(Ipv6Addr::UNSPECIFIED.into())).await {
        Err(Failure::Listen { source, .. }) if source.kind() != ErrorKind::AddrInUse => {
            listen(Socket::Api, every(Ipv4Addr::UNSPECIFIED.into())).await
        }
        listening => listening,
    }
}
