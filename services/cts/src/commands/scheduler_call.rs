//! Commands that ask a scheduler, and end by themselves.

use std::time::Duration;

use cts_config::{Config, ServicesConfig};
use cts_core::Chain;
use cts_runtime::Tasks;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::cli::groups::{Configuration, Schedulers};
use crate::configuration::load;
use crate::failure::Failure;
use crate::process_env::ProcessEnv;
use crate::services::connections::Links;

/// Longest time for a call; it includes finding a scheduler that lives.
const CALL: Duration = Duration::from_secs(10);

/// Does `work` with a channel to the schedulers that the options or the configuration name.
pub(crate) async fn at_scheduler(
    configuration: &Configuration,
    schedulers: &Schedulers,
    process_env: &ProcessEnv,
    work: impl AsyncFnOnce(&Channel) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let services = services(configuration, process_env)?;
    let links = Links::new(&services).await?;
    let end = CancellationToken::new();
    let tasks = Tasks::new(end.clone());
    let scheduler = links
        .schedulers(&schedulers.schedulers, &tasks, &end)?
        .channel();
    let result = work(&scheduler).await;
    end.cancel();
    tasks.wait().await?;
    result
}

fn services(
    configuration: &Configuration,
    process_env: &ProcessEnv,
) -> Result<ServicesConfig, Failure> {
    if configuration.paths.is_empty() {
        return Ok(ServicesConfig::default());
    }
    let Config { services, .. } = load(configuration, process_env)?;
    Ok(services)
}

/// The answer to a call of a scheduler, or why the call failed.
pub(crate) async fn answered<T>(
    call: impl Future<Output = Result<T, Status>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(CALL, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(status)) if status.code() == Code::NotFound => {
            Err(Failure::Call(status.message().to_owned()))
        }
        Ok(Err(status)) => Err(Failure::Call(format!(
            "the scheduler did not do it: {}",
            Chain(&status)
        ))),
        Err(_elapsed) => Err(Failure::Call(format!(
            "no scheduler has answered within {} s; name one with -scheduler, or in services.schedulers",
            CALL.as_secs()
        ))),
    }
}
