//! The strict-follower mode: a gateway before a replica that does not lead sends its clients to the leader
//! (docs/rest.md#strict-followers).

use cts_proto::cluster::v1::GetClusterResponse;

use crate::problem::Problem;
use crate::scheduler_client::ClusterClient;

/// Answers a request to a task or status endpoint, unless the called scheduler leads. For each request the scheduler
/// names the leader of that moment.
pub(crate) async fn intercept(questions: &ClusterClient) -> Result<Option<Problem>, Problem> {
    match questions.newest().await {
        Ok(cluster) => Ok(redirection(&cluster).map(Problem::not_the_leader)),
        Err(error) => Err(Problem::of_failed_call(&error)),
    }
}

/// The answer of a replica that does not lead; `None` if it leads. Followers exist only with high
/// availability.
fn redirection(cluster: &GetClusterResponse) -> Option<String> {
    if !cluster.high_availability {
        return None;
    }
    let Some(leader) = cluster.members.iter().find(|member| member.leader) else {
        return Some("redirect requests to leader".to_owned());
    };
    if leader.id == cluster.answered_by {
        return None;
    }
    Some(match leader.address.as_deref() {
        None | Some("") => format!("redirect requests to leader '{}'", leader.id),
        Some(address) => format!("redirect requests to leader '{}' at {address}", leader.id),
    })
}
