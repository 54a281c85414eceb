//! The connection of the commands that call a scheduler.

use cts_cli::{SchedulerCommand, SchedulerPlace, call_scheduler, load};
use cts_config::{Config, SecurityConfig, ServicesConfig};
use cts_runtime::{ProcessEnv, Tasks};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::services::connections::Links;

/// Runs the command with a channel to the schedulers that the options or the configuration name.
pub(crate) async fn run(
    command: SchedulerCommand,
    process_env: &ProcessEnv,
) -> Result<u8, Failure> {
    let place = command.place();
    let (services, security) = settings(place, process_env)?;
    let links = Links::new(&services, &security).await?;
    let tasks = Tasks::new(CancellationToken::new());
    let schedulers = &place.schedulers.schedulers;
    let scheduler = links.schedulers(schedulers, &process_env.clock, &tasks)?;
    let result = call_scheduler(&command, &scheduler.channel(), process_env).await;
    tasks.end().await?;
    result?;
    Ok(0)
}

fn settings(
    place: &SchedulerPlace,
    process_env: &ProcessEnv,
) -> Result<(ServicesConfig, SecurityConfig), Failure> {
    if place.configuration.paths.is_empty() {
        return Ok(Default::default());
    }
    let Config {
        services, security, ..
    } = load(&place.configuration, process_env)?;
    Ok((services, security))
}
