//! Finding the leader.

use std::time::Duration;

use cts_proto::cluster::v1::cluster_service_client::ClusterServiceClient;
use cts_proto::cluster::v1::{GetClusterRequest, GetClusterResponse};
use cts_testkit::eventually;
use tokio::time::timeout;

use super::{Cluster, Service};
use crate::DEADLINE;

const TIMEOUT: Duration = Duration::from_secs(2);

impl Cluster {
    /// The replicas as a scheduler sees them.
    pub async fn replicas(&self, scheduler: usize) -> Result<GetClusterResponse, String> {
        let channel = self.channel(Service::Scheduler, scheduler);
        let mut client = ClusterServiceClient::new(channel);
        match timeout(TIMEOUT, client.get_cluster(GetClusterRequest {})).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(status.to_string()),
            Err(elapsed) => Err(elapsed.to_string()),
        }
    }

    /// Index of the scheduler that leads, as the running schedulers see it.
    pub async fn leader(&self) -> Result<usize, String> {
        let mut complaint = "no scheduler runs".to_owned();
        for (service, index) in self.running() {
            if service != Service::Scheduler {
                continue;
            }
            match self.replicas(index).await {
                Ok(answer) => {
                    let leader = answer.members.iter().find(|member| member.leader);
                    let number =
                        leader.and_then(|leader| leader.id.rsplit('-').next()?.parse().ok());
                    return number.ok_or_else(|| format!("none leads: {answer:?}"));
                }
                Err(error) => complaint = error,
            }
        }
        Err(complaint)
    }

    /// Waits until one of the schedulers leads that run and are not paused.
    pub async fn wait_for_leader(&self) -> usize {
        let running = self.running();
        eventually(DEADLINE, async || {
            let leader = self.leader().await?;
            if running.contains(&(Service::Scheduler, leader)) {
                Ok(leader)
            } else {
                Err(format!("{leader} leads, which does not run"))
            }
        })
        .await
    }
}
