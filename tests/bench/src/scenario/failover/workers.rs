//! A worker that is killed while Terraform runs.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::measures::clock::Moment;
use crate::measures::report::say;
use crate::measures::sample::Sample;
use crate::members::Members;
use crate::runs::Runs;
use crate::site::Site;
use crate::stage::{Stage, Version};

/// Time between two polls for the start of Terraform.
const POLL: Duration = Duration::from_millis(5);

/// Seconds from the kill to the next lease of the run that the worker had, again and again. The kills
/// fall at different moments between two renewals.
pub(super) async fn lose(
    stage: &mut Stage,
    site: &Site,
    rounds: u32,
    lease_ttl: Duration,
    version: &mut Version,
) -> Result<Sample> {
    let mut runs = Runs::follow(cts_rpc::connect(site.cluster()?.scheduler_address(0))?).await?;
    let members = Members::new(runs.channel());
    let mut seconds = Sample::default();
    let mut worker = Cluster::worker().name;
    for round in 0..rounds {
        *version = version.next();
        stage.shim()?.hold_applies()?;
        let written = stage.register(0, *version).await?;
        let (run, _) = runs.leased(None).await?;
        while stage.shim()?.applies_since(written)?.is_empty() {
            sleep(POLL).await;
        }
        let known = members.workers().await?;
        let next = Cluster::further_worker(&format!("worker-{round}"));
        stage.launch(site, &next)?;
        members.worker_besides(&known).await?;
        sleep(lease_ttl / 3 * round / rounds).await;

        let lost = stage.take(&worker)?;
        let killed = Moment::now();
        lost.kill().await?;
        let (_, leased) = runs.leased(Some(&run)).await?;
        let took = leased.since(killed).as_secs_f64();
        say(&format!("round {} of {rounds}: {took:.3} s", round + 1));
        seconds.add(took);
        stage.shim()?.let_applies_go()?;
        runs.succeeded().await?;
        worker = next.name;
    }
    Ok(seconds)
}
