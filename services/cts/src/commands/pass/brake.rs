//! The brake of the fleet in a pass (docs/runs.md#the-brake-of-the-fleet).

use cts_proto::cluster::v1::cluster_service_client::ClusterServiceClient;
use cts_proto::cluster::v1::{Brake, GetBrakeRequest};
use cts_proto::task::v1::GetTaskStateRequest;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use tonic::Status;
use tonic::transport::Channel;

use super::tally::Counts;
use crate::failure::Failure;

/// Losses that the end of a pass names.
const LOSSES: usize = 5;

/// Asks the scheduler about the brake.
#[derive(Debug)]
pub(super) struct BrakeClient {
    tasks: TaskServiceClient<Channel>,
    cluster: ClusterServiceClient<Channel>,
}

impl BrakeClient {
    pub(super) fn new(scheduler: Channel) -> Self {
        Self {
            tasks: TaskServiceClient::new(scheduler.clone()),
            cluster: ClusterServiceClient::new(scheduler),
        }
    }

    /// Whether the brake holds a task.
    pub(super) async fn holds(&mut self, task: &str) -> Result<bool, Status> {
        let request = GetTaskStateRequest {
            name: task.to_owned(),
            include_events: false,
        };
        let state = self.tasks.get_task_state(request).await?.into_inner().state;
        let hold = state.and_then(|state| state.hold);
        Ok(hold.is_some_and(|hold| hold.by_brake))
    }

    /// The brake, if it is set.
    pub(super) async fn if_set(&mut self) -> Result<Option<Brake>, Status> {
        let answer = self.cluster.get_brake(GetBrakeRequest {}).await?;
        Ok(answer.into_inner().brake.filter(|brake| brake.set))
    }
}

/// Why a pass over this number of tasks ends while the brake is set.
pub(super) fn failure(brake: &Brake, counts: Counts, tasks: usize) -> Failure {
    let losses = brake.losses.iter().take(LOSSES).map(|loss| {
        let datacenter = match &*loss.datacenter {
            "" => String::new(),
            datacenter => format!(" in {datacenter}"),
        };
        format!(
            "{}{datacenter}: {} of {}",
            loss.service, loss.now, loss.before
        )
    });
    let losses: Vec<String> = losses.collect();
    Failure::Braked {
        lost: brake.lost,
        of: brake.of,
        losses: losses.join(", "),
        held: counts.held,
        tasks,
        failed: counts.failed,
    }
}

#[cfg(test)]
mod tests {
    use cts_proto::cluster::v1::BrakeLoss;

    use super::*;

    #[test]
    fn a_pass_that_ends_with_a_set_brake_says_why_and_has_its_own_exit_code() {
        let loss = |service: &str, datacenter: &str| BrakeLoss {
            service: service.into(),
            datacenter: datacenter.into(),
            before: 5,
            now: 1,
        };
        let brake = Brake {
            set: true,
            lost: 8,
            of: 20,
            losses: vec![loss("api", ""), loss("web", "dc2")],
            ..Brake::default()
        };
        let counts = Counts {
            succeeded: 7,
            failed: 1,
            held: 2,
            ..Counts::default()
        };
        let failure = failure(&brake, counts, 10);
        assert_eq!(
            failure.to_string(),
            "the brake of the fleet is set: 8 of 20 instances are lost (api: 1 of 5, web in dc2: 1 of 5); \
             it holds 2 of 10 tasks until the instances are back or until `cts task release -all`; 1 failed"
        );
        assert_eq!(failure.exit_code(), cts_cli::EXIT_BRAKE);
    }
}
