//! `cts health`: whether one service, or the API, serves (docs/cli.md#cts-health).

use std::time::Duration;

use cts_api_client::{ApiClient, ClientSettings};
use cts_config::{SecurityConfig, ServicesConfig};
use cts_core::Chain;
use cts_core::callers::ServiceRole;
use cts_rpc::{
    Address, CallFailure, ClientTls, ClientTlsFiles, IdentityFiles, connect, connect_tls, serves,
};
use cts_runtime::ProcessEnv;
use serde_json::json;
use tokio::time::timeout;
use tonic::transport::Channel;

use crate::arguments::{ClientOptions, Health, Output};
use crate::configuration::{load, server_rule};
use crate::error::CommandError;
use crate::exit_code::EXIT_UNHEALTHY;
use crate::output::{print, say};

/// Time for the whole check. Health checks of containers end after some seconds, too.
const LIMIT: Duration = Duration::from_secs(5);

/// Result of a check.
struct Checked {
    /// The address, for display.
    address: String,
    /// Why the service does not serve; `None` if it does.
    problem: Option<String>,
}

/// Runs the command and returns the exit code.
pub(crate) async fn run(arguments: &Health, process_env: &ProcessEnv) -> Result<u8, CommandError> {
    let checked = match &arguments.address {
        Some(address) if !address.contains("://") => {
            of_service(address, arguments, process_env).await?
        }
        address => of_api(address.as_deref(), &arguments.client, process_env).await,
    };
    checked.report(arguments.output.output)
}

/// Calls `grpc.health.v1` of a service.
async fn of_service(
    address: &str,
    arguments: &Health,
    process_env: &ProcessEnv,
) -> Result<Checked, CommandError> {
    let (services, security) = if arguments.configuration.paths.is_empty() {
        (ServicesConfig::default(), SecurityConfig::default())
    } else {
        let config = load(&arguments.configuration, process_env)?;
        (config.services, config.security)
    };
    let channel = match channel(address, &services, &security).await {
        Ok(channel) => channel,
        Err(problem) => return Ok(Checked::failed(address, problem)),
    };
    let problem = match timeout(LIMIT, serves(channel)).await {
        Ok(Ok(true)) => None,
        Ok(Ok(false)) => Some("the service answers that it does not serve".to_owned()),
        Ok(Err(status)) => Some(CallFailure(&status).to_string()),
        Err(_elapsed) => Some(too_late()),
    };
    Ok(Checked {
        address: address.to_owned(),
        problem,
    })
}

/// A channel to a service of any role.
async fn channel(
    address: &str,
    services: &ServicesConfig,
    security: &SecurityConfig,
) -> Result<Channel, String> {
    let Some(tls) = &services.tls else {
        return connect(address).map_err(|error| Chain(&error).to_string());
    };
    let address: Address = address.parse().map_err(|error| Chain(&error).to_string())?;
    let files = ClientTlsFiles {
        ca_cert: tls.ca_cert.clone(),
        identity: Some(IdentityFiles {
            cert: tls.cert.clone(),
            key: tls.key.clone(),
        }),
        server_name: tls.server_name.clone(),
    };
    let tls = ClientTls::load(files).await;
    let mut tls = tls.map_err(|error| Chain(&error).to_string())?;
    if let Some(rule) = server_rule(security, &ServiceRole::SERVERS) {
        tls = tls.with_servers(rule);
    }
    Ok(connect_tls(&address, &tls))
}

/// Calls `GET /v1/health` of the API.
async fn of_api(
    address: Option<&str>,
    options: &ClientOptions,
    process_env: &ProcessEnv,
) -> Checked {
    let mut options = cts_api_client::ClientOptions::from(options);
    if let Some(address) = address {
        options.http_addr = Some(address.to_owned());
    }
    let (settings, warnings) = ClientSettings::resolve(&options, &process_env.text_environment());
    for warning in warnings {
        say(&warning.to_string());
    }
    let client = match ApiClient::new(&settings) {
        Ok(client) => client,
        Err(error) => {
            return Checked::failed(&settings.address, Chain(&error).to_string());
        }
    };
    let problem = match timeout(LIMIT, client.health()).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(Chain(&error).to_string()),
        Err(_elapsed) => Some(too_late()),
    };
    Checked {
        address: client.address(),
        problem,
    }
}

fn too_late() -> String {
    format!("no answer within {} s", LIMIT.as_secs())
}

impl Checked {
    fn failed(address: &str, problem: String) -> Self {
        Self {
            address: address.to_owned(),
            problem: Some(problem),
        }
    }

    /// Prints one line, or the document, and gives the exit code.
    fn report(&self, output: Output) -> Result<u8, CommandError> {
        let Self { address, problem } = self;
        let healthy = problem.is_none();
        match (output, problem) {
            (Output::Json, _) => {
                let document =
                    json!({ "address": address, "healthy": healthy, "problem": problem });
                print(&format!("{document:#}\n"))?;
            }
            (Output::Table, None) => print(&format!("{address} serves\n"))?,
            (Output::Table, Some(problem)) => say(&format!("{address} does not serve: {problem}")),
        }
        Ok(if healthy { 0 } else { EXIT_UNHEALTHY })
    }
}
