//! Versions of answers as server-sent events (docs/rest.md#versions-to-follow).

use axum::response::Response;
use axum::response::sse::Event;
use cts_core::callers::FollowKey;
use cts_listen::ClientPermit;
use futures::StreamExt as _;
use futures::stream::iter;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;

use crate::api_request::ApiRequest;
use crate::problem::Problem;
use crate::request::parameters::{self, RunIncludes};
use crate::routes::runs::visible;
use crate::scheduler_client::RunClient;
use crate::streams::{Answer, let_hyper_write, server_sent};

/// Messages that a follower may lag before it is cut off. A follower that comes back gets the present versions.
const KEPT: usize = 64;

/// The keys of a request, if the caller may see all of them. Refused as their answers are.
pub(crate) async fn keys(
    runs: &RunClient,
    request: &ApiRequest,
) -> Result<Vec<FollowKey>, Problem> {
    let keys = parameters::follow(request.query())?;
    for key in &keys {
        if let FollowKey::Task(name) = key {
            request.visitor.may_name(name.as_str())?;
        } else if let FollowKey::Run(run) = key {
            let (run, includes) = (run.to_string(), RunIncludes::default());
            visible(runs, &run, includes, request).await?;
        }
    }
    Ok(keys)
}

/// The present version of each key, then each change, as events of the type `version`.
pub(crate) async fn versions(
    runs: &RunClient,
    keys: &[FollowKey],
    (answer, permit): (Answer, ClientPermit<String>),
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let mut messages = runs.versions(keys, request.visitor.tasks()).await?;
    let (sender, versions) = mpsc::channel(KEPT);
    let mut taking = JoinSet::new();
    taking.spawn(async move {
        while let Ok(Some(message)) = messages.message().await {
            if sender.try_send(message.versions).is_err() {
                return;
            }
        }
    });
    let mut answer = answer.endless();
    let stopped = async move {
        let _held = (taking, permit);
        answer.stops().await;
        let_hyper_write().await;
    };
    let versions = ReceiverStream::new(versions).take_until(stopped);
    let events = versions.flat_map(|versions| {
        let events = versions.into_iter().filter_map(|version| {
            let event = Event::default().event("version");
            event.json_data(&version).ok()
        });
        iter(events)
    });
    Ok(server_sent("following versions", events))
}
