//! Changes of runs as server-sent events (docs/rest.md#routes).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use cts_proto::json::in_local_time;
use cts_proto::run::v1::FollowRunsResponse;
use cts_rpc::CallFailure;
use futures::StreamExt as _;
use futures::stream::{once, unfold};

use crate::api_request::ApiRequest;
use crate::authorization::visitor::Visitor;
use crate::problem::Problem;
use crate::request::parameters;
use crate::request_id::RequestId;
use crate::scheduler_client::run_events::{End, Following, RunEvents};
use crate::streams::{Answer, Stop, UNBUFFERED, let_hyper_write};

/// Interval of signs of life: proxies between gateway and client may close a silent connection.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// How long a client that has lost its events waits before it connects again.
const COME_BACK_AFTER: Duration = Duration::from_secs(1);

/// Changes of runs as server-sent events of the type `run`, from now on. A client that is cut off has missed events,
/// and reads the list of runs if necessary.
pub(crate) async fn events(
    events: &RunEvents,
    answer: Answer,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let task = parameters::events(request.query())?;
    if !task.is_empty() {
        request.visitor.may_name(&task)?;
    }
    let following = events.follow().await?;
    let beginning = once(async {
        let event = Event::default().comment("following runs");
        Ok::<_, Infallible>(event.retry(COME_BACK_AFTER))
    });
    let follower = Follower {
        following,
        task,
        visitor: request.visitor.clone(),
        answer: answer.endless(),
        id: request.id,
    };
    let local_time = Arc::clone(&request.local_time);
    let changes = unfold(follower, |mut follower| async {
        let change = follower.next().await?;
        Some((change, follower))
    });
    let changes = changes.filter_map(move |change| {
        let event = Event::default().event("run");
        let event = in_local_time(&local_time, || event.json_data(&*change));
        async { event.ok().map(Ok) }
    });
    let keep_alive = KeepAlive::new().interval(SIGN_OF_LIFE);
    let events = Sse::new(beginning.chain(changes)).keep_alive(keep_alive);
    Ok(([UNBUFFERED], events).into_response())
}

struct Follower {
    following: Following,
    /// Only runs of this task, unless it is empty.
    task: String,
    visitor: Visitor,
    answer: Answer,
    id: RequestId,
}

impl Follower {
    fn is_for(&self, task: &str) -> bool {
        (self.task.is_empty() || self.task == task) && self.visitor.sees(task)
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
                Ok(change) if self.is_for(&change.task_name) => return Some(change),
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
