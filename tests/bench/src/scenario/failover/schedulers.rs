//! A leader that is killed or stopped.

use std::time::Duration;

use anyhow::{Context as _, Result};
use nix::sys::signal::Signal;
use tokio::time::sleep;

use super::SCHEDULERS;
use crate::cluster::scheduler_name;
use crate::measures::clock::Moment;
use crate::measures::report::say;
use crate::measures::sample::Sample;
use crate::members::Members;
use crate::runs::Runs;
use crate::site::Site;
use crate::stage::{Stage, Version};

/// How a leader is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    Crash,
    CleanStop,
}

/// Seconds from the signal.
#[derive(Debug, Default)]
pub(super) struct Takeover {
    /// To the run of a change that was written just after the signal.
    pub(super) queued: Sample,
    /// Time until the other scheduler reports that it leads.
    pub(super) led: Sample,
}

pub(super) async fn lose(
    stage: &mut Stage,
    site: &Site,
    rounds: u32,
    loss: Loss,
    version: &mut Version,
) -> Result<Takeover> {
    let cluster = site.cluster()?;
    let mut takeover = Takeover::default();
    for round in 1..=rounds {
        let members = Members::new(cts_rpc::connect(cluster.scheduler_address(0))?);
        let leader = members.leader().await?;
        let index = (0..SCHEDULERS).find(|index| scheduler_name(*index) == leader);
        let index = index.context("an unknown scheduler leads")?;
        let other = (index + 1) % SCHEDULERS;
        let mut runs = Runs::follow(cts_rpc::connect(cluster.scheduler_address(other))?).await?;
        let members = Members::new(runs.channel());
        members.healthy(SCHEDULERS).await?;
        // The kills fall at different moments between two renewals.
        sleep(Duration::from_millis(u64::from(round * 370 % 1000))).await;

        *version = version.next();
        let lost = stage.take(&leader)?;
        let signalled = Moment::now();
        lost.signal(match loss {
            Loss::Crash => Signal::SIGKILL,
            Loss::CleanStop => Signal::SIGTERM,
        })?;
        stage.register(0, *version).await?;
        let name = scheduler_name(other);
        let (queued, led) = tokio::try_join!(runs.queued(), members.led_by(&name))?;
        let (queued, led) = (queued.since(signalled), led.since(signalled));
        takeover.queued.add(queued.as_secs_f64());
        takeover.led.add(led.as_secs_f64());
        say(&format!(
            "round {round} of {rounds}: queued after {queued:.3?}"
        ));
        runs.succeeded().await?;
        match loss {
            Loss::Crash => lost.kill().await?,
            Loss::CleanStop => lost.ended().await?,
        }
        stage.launch(site, &cluster.scheduler(site, index)?)?;
        members.healthy(SCHEDULERS).await?;
        // The scheduler answers.
        Runs::follow(cts_rpc::connect(cluster.scheduler_address(index))?).await?;
    }
    Ok(takeover)
}
