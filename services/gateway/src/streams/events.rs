//! Changes of runs as server-sent events (docs/rest.md#routes).

use std::future::ready;
use std::sync::Arc;

use axum::response::Response;
use axum::response::sse::Event;
use cts_proto::json::{LocalTime, in_local_time};
use cts_proto::run::v1::FollowRunsResponse;
use cts_rpc::CallFailure;
use futures::StreamExt as _;
use futures::stream::unfold;

use crate::api_request::ApiRequest;
use crate::authorization::visitor::Visitor;
use crate::problem::Problem;
use crate::request::parameters;
use crate::request_id::RequestId;
use crate::scheduler_client::ClusterClient;
use crate::scheduler_client::run_events::{End, Following, RunEvents};
use crate::streams::{Answer, Stop, let_hyper_write, server_sent};

/// Changes of runs as server-sent events of the type `run`, from now on, each change of a consent as one of the type
/// `approval`, and the brake of the fleet at each change of it as one of the type `brake`. A client that is cut off has
/// missed events, and reads the list of runs if necessary.
pub(crate) async fn events(
    (events, cluster): (&RunEvents, &ClusterClient),
    answer: Answer,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let task = parameters::events(request.query())?;
    if !task.is_empty() {
        request.visitor.may_name(&task)?;
    }
    let following = events.follow().await?;
    let follower = Follower {
        following,
        cluster: cluster.clone(),
        task,
        visitor: request.visitor.clone(),
        answer: answer.endless(),
        id: request.id,
    };
    let local_time = Arc::clone(&request.local_time);
    let changes = unfold(follower, move |mut follower| {
        let local_time = Arc::clone(&local_time);
        async move {
            let change = follower.next().await?;
            let event = follower.event(&change, &local_time).await;
            Some((event, follower))
        }
    });
    let changes = changes.filter_map(ready);
    Ok(server_sent("following runs", changes))
}

struct Follower {
    following: Following,
    cluster: ClusterClient,
    /// Only runs of this task, unless it is empty.
    task: String,
    visitor: Visitor,
    answer: Answer,
    id: RequestId,
}

impl Follower {
    fn is_for(&self, change: &FollowRunsResponse) -> bool {
        if change.brake {
            return self.task.is_empty() && self.visitor.tasks().is_none();
        }
        let task = &change.task_name;
        (self.task.is_empty() || self.task == *task) && self.visitor.sees(task)
    }

    /// The event of a change; `None` if its content cannot be read.
    async fn event(&self, change: &FollowRunsResponse, local_time: &LocalTime) -> Option<Event> {
        let event = Event::default();
        if change.brake {
            let brake = self.cluster.brake().await.ok()?;
            let event = event.event("brake");
            return in_local_time(local_time, || event.json_data(&brake)).ok();
        }
        if let Some(approval) = &change.approval {
            let event = event.event("approval");
            return in_local_time(local_time, || event.json_data(approval)).ok();
        }
        let event = event.event("run");
        in_local_time(local_time, || event.json_data(change)).ok()
    }

    async fn next(&mut self) -> Option<Arc<FollowRunsResponse>> {
        loop {
            let change = tokio::select! {
                biased;
                stop = self.answer.stops() => {
                    if let Stop::Here = stop {
                        tracing::debug!(request_id = %self.id, "events end with the gateway or with their token");
                        let_hyper_write().await;
                    }
                    return None;
                }
                change = self.following.next() => change,
            };
            match change {
                Ok(change) if self.is_for(&change) => return Some(change),
                Ok(_of_another_task) => {}
                Err(End::Over) => return None,
                Err(End::Behind(lost)) => {
                    tracing::info!(
                        target: "api",
                        request_id = %self.id,
                        remote_ip = %self.answer.connection.peer.ip(),
                        lost,
                        "a client reads its events too slowly and is cut off"
                    );
                    return None;
                }
                Err(End::Failed(status)) => {
                    tracing::warn!(
                        request_id = %self.id,
                        error = %CallFailure(&status),
                        "an answer broke off because its source did"
                    );
                    let_hyper_write().await;
                    return None;
                }
            }
        }
    }
}
