//! The scenarios.

mod change_to_apply;
mod fan_out;
mod start_up;

use anyhow::Result;

use crate::arguments::Scenario;
use crate::report::Metric;
use crate::stage::Stage;

/// Runs a scenario; cts and Consul may still run when it returns.
pub(crate) async fn run(scenario: &Scenario, stage: &mut Stage) -> Result<Vec<Metric>> {
    stage.set_up().await?;
    match *scenario {
        Scenario::ChangeToApply {
            changes,
            instances,
            rounds,
        } => change_to_apply::run(stage, changes, instances, rounds).await,
        Scenario::FanOut {
            tasks,
            rounds,
            modules,
        } => fan_out::run(stage, tasks, rounds, modules).await,
        Scenario::StartUp {
            tasks,
            rounds,
            modules,
        } => start_up::run(stage, tasks, rounds, modules).await,
    }
}
