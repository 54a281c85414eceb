//! The first lines of a service's log, about its configuration, its role and its settings.

use std::net::SocketAddr;

use cts_cli::{Gateway, ServiceCommand, Start};
use cts_config::{Config, Report, Severity};

use crate::listeners;

/// Problems of the configuration in the log. A file can be made of nothing else.
const PROBLEMS: usize = 1000;

/// Logs each problem of the configuration with its place.
pub(crate) fn log_problems(report: &Report) {
    let problems = report.problems();
    for problem in problems.iter().take(PROBLEMS) {
        let (file, line, column) = (problem.file(), problem.line(), problem.column());
        let help = problem.help();
        match problem.severity() {
            Severity::Error => {
                tracing::error!(target: "config", file, line, column, help, "{problem}");
            }
            Severity::Warning => {
                tracing::warn!(target: "config", file, line, column, help, "{problem}");
            }
        }
    }
    let more = problems.len().saturating_sub(PROBLEMS);
    if more > 0 {
        tracing::warn!(target: "config", more, "further problems of the configuration are not shown");
    }
}

/// Logs which service begins.
pub(crate) fn log_role(command: &ServiceCommand, config: &Config) {
    let grpc = listeners::of_command(command, &config.services.listen);
    let (role, api) = match command {
        ServiceCommand::Start(Start { api, .. }) => ("start", Some(api)),
        ServiceCommand::Watcher(_) => ("watcher", None),
        ServiceCommand::Scheduler(_) => ("scheduler", None),
        ServiceCommand::Worker(_) => ("worker", None),
        ServiceCommand::Gateway(Gateway { api, .. }) => ("gateway", Some(api)),
    };
    let api = api.map(|api| match api.bind_address {
        Some(ip) => SocketAddr::new(ip, config.port).to_string(),
        None => format!("*:{}", config.port),
    });
    let files = &command.options().configuration.paths;
    let files: Vec<_> = files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    tracing::info!(
        role,
        id = config.id,
        grpc = grpc.map(tracing::field::display),
        api,
        version = env!("CARGO_PKG_VERSION"),
        files = files.join(", "),
        "a service begins"
    );
}

/// Some options of the original are understood, and do nothing here.
pub(crate) fn warn_of_idle_options(command: &ServiceCommand) {
    let ServiceCommand::Start(Start { client_type, .. }) = command else {
        return;
    };
    if client_type
        .as_ref()
        .is_some_and(|client| !client.is_empty())
    {
        tracing::warn!(target: "cli", ?client_type, "option -client-type is for the development of the original and has no effect");
    }
}

/// Services that read the tasks log a `buffer_period` without effect like the original.
pub(crate) fn warn_of_overridden_buffers(command: &ServiceCommand, config: &Config) {
    if !matches!(
        command,
        ServiceCommand::Start(_) | ServiceCommand::Scheduler(_)
    ) {
        return;
    }
    for task in &config.overridden_buffers {
        tracing::warn!(
            target: "config.task",
            task_name = %task,
            "disabling buffer_period for schedule condition. overriding buffer_period configured for this task"
        );
    }
}
