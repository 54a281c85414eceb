//! `cts workers` and `cts cluster` through the API.

use cts_api_client::ApiClient;

use super::session::{ExitStatus, Session, pause};
use crate::arguments::{ClusterCommand, SchedulerCommand, WorkersCommand};
use crate::commands::{cluster, workers};

pub(super) async fn run(
    session: &mut Session<'_>,
    command: &SchedulerCommand,
) -> Result<(), ExitStatus> {
    let client = session.client(&command.place().client)?;
    match command {
        SchedulerCommand::Workers(WorkersCommand::List { output, wide, .. }) => {
            let overview = client.overview().await.map_err(|error| {
                let headline = "Error: unable to list the workers";
                session.call_failed(headline, &error)
            })?;
            let queue = overview.queue.clone().unwrap_or_default();
            let text = output.output.text(
                || workers::table(&overview.workers, &queue, wide.width()),
                || workers::document(&overview.workers, &queue),
            );
            session.ui.result(&text);
            Ok(())
        }
        SchedulerCommand::Workers(WorkersCommand::Drain { ids, wait, .. }) => {
            drain(session, &client, ids, *wait).await
        }
        SchedulerCommand::Cluster(ClusterCommand::Status { output, wide, .. }) => {
            let configuration = client.cluster_configuration().await.map_err(|error| {
                let headline = "Error: unable to get the cluster";
                session.call_failed(headline, &error)
            })?;
            let text = output.output.text(
                || cluster::table(&configuration, wide.width()),
                || cluster::document(&configuration),
            );
            session.ui.result(&text);
            Ok(())
        }
    }
}

async fn drain(
    session: &mut Session<'_>,
    client: &ApiClient,
    beginnings: &[String],
    wait: bool,
) -> Result<(), ExitStatus> {
    let known = living(session, client).await?;
    let mut left = Vec::new();
    for beginning in beginnings {
        let chosen = workers::choose(&known, beginning);
        let id = chosen.map_err(|error| session.fail(&format!("Error: {error}"), ""))?;
        left.push(id);
    }
    for id in &left {
        client.drain_worker(id).await.map_err(|error| {
            let headline = format!("Error: unable to drain '{id}'");
            session.call_failed(&headline, &error)
        })?;
        session.ui.result(&format!("{id} drains\n"));
    }
    while wait && !left.is_empty() {
        let known = living(session, client).await?;
        let (here, gone): (Vec<_>, Vec<_>) = left.into_iter().partition(|id| known.contains(id));
        for id in gone {
            session.ui.result(&format!("{id} has left\n"));
        }
        left = here;
        if !left.is_empty() {
            pause().await;
        }
    }
    Ok(())
}

/// Ids of the workers that are not lost.
async fn living(session: &mut Session<'_>, client: &ApiClient) -> Result<Vec<String>, ExitStatus> {
    let overview = client.overview().await.map_err(|error| {
        let headline = "Error: unable to list the workers";
        session.call_failed(headline, &error)
    })?;
    Ok(workers::living(&overview.workers))
}
