//! The scenarios.

mod api_status;
mod change_to_apply;
mod config_load;
mod cut_queries;
mod decide;
mod failover;
mod fan_out;
mod history;
mod idle;
mod log_follow;
mod overview;
mod page;
mod queue;
mod shared_input;
mod soak;
mod start_up;
mod strangers;
mod watch_scale;

use anyhow::Result;

use self::change_to_apply::Watched;

use crate::arguments::Scenario;
use crate::measures::report::Metric;
use crate::stage::{Needs, Stage};

/// Runs a scenario; cts, Consul and Postgres may still run when it returns.
pub(crate) async fn run(scenario: &Scenario, stage: &mut Stage) -> Result<Vec<Metric>> {
    stage.set_up(needs(scenario)).await?;
    match scenario {
        Scenario::ApiStatus(options) => api_status::run(stage, options).await,
        Scenario::ConfigLoad {
            tasks,
            files,
            rounds,
        } => config_load::run(stage, *tasks, *files, *rounds).await,
        Scenario::ChangeToApply(options) => {
            change_to_apply::run(stage, options, Watched::Name).await
        }
        Scenario::Regexp(options) => {
            change_to_apply::run(stage, options, Watched::Expression).await
        }
        Scenario::FanOut {
            tasks,
            rounds,
            modules,
        } => fan_out::run(stage, *tasks, *rounds, *modules).await,
        Scenario::StartUp {
            tasks,
            rounds,
            modules,
        } => start_up::run(stage, *tasks, *rounds, *modules).await,
        Scenario::Decide { tasks, rounds } => decide::run(stage, *tasks, *rounds).await,
        Scenario::SharedInput(options) => shared_input::run(stage, options).await,
        Scenario::Soak(options) => soak::run(stage, options).await,
        Scenario::Strangers(options) => strangers::run(stage, options).await,
        Scenario::Overview(options) => overview::run(stage, options).await,
        Scenario::Page(options) => page::run(stage, options).await,
        Scenario::Queue(options) => queue::run(stage, options).await,
        Scenario::Failover(options) => failover::run(stage, options).await,
        Scenario::LogFollow(options) => log_follow::run(stage, options).await,
        Scenario::History(options) => history::run(stage, options).await,
        Scenario::Idle(options) => idle::run(stage, options).await,
        Scenario::CutQueries(options) => cut_queries::run(stage, options).await,
        Scenario::WatchScale(options) => watch_scale::run(stage, options).await,
    }
}

const fn needs(scenario: &Scenario) -> Needs {
    let (postgres, pretended_terraform) = match scenario {
        Scenario::ChangeToApply(options) | Scenario::Regexp(options) => (options.cluster, false),
        Scenario::FanOut { .. } | Scenario::StartUp { .. } => (false, false),
        Scenario::ConfigLoad { .. } | Scenario::CutQueries(_) | Scenario::WatchScale(_) => {
            (false, true)
        }
        Scenario::ApiStatus(_)
        | Scenario::Decide { .. }
        | Scenario::SharedInput(_)
        | Scenario::Soak(_)
        | Scenario::Strangers(_)
        | Scenario::Overview(_)
        | Scenario::Page(_)
        | Scenario::Queue(_)
        | Scenario::Failover(_)
        | Scenario::LogFollow(_)
        | Scenario::History(_)
        | Scenario::Idle(_) => (true, true),
    };
    Needs {
        consul: !matches!(scenario, Scenario::ConfigLoad { .. }),
        default_limits: matches!(scenario, Scenario::WatchScale(_)),
        postgres,
        pretended_terraform,
    }
}
