//! A subscription at a watcher, as the scheduler has it.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use cts_core::View;
use cts_proto::watch::v1::watch_request::Change;
use cts_proto::watch::v1::watch_response::Event;
use cts_proto::watch::v1::watch_service_client::WatchServiceClient;
use cts_proto::watch::v1::{ViewDelta, WatchRequest, WatchResponse};
use cts_rpc::convert::subscribe_to_wire;
use futures::stream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tonic::Streaming;
use tonic::transport::Channel;

use crate::measures::clock::Moment;

/// Time for the watcher to answer after its start.
const START: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct WatchSubscription {
    responses: Streaming<WatchResponse>,
    /// Time of the request.
    pub(crate) asked: Moment,
    _requests: mpsc::UnboundedSender<WatchRequest>,
}

impl WatchSubscription {
    /// Subscribes as soon as the watcher answers.
    pub(crate) async fn open(
        watcher: &Channel,
        views: impl IntoIterator<Item = View>,
    ) -> Result<Self> {
        let subscribe = Change::Subscribe(subscribe_to_wire(views, 1));
        let deadline = Instant::now() + START;
        loop {
            let (requests, queue) = mpsc::unbounded_channel();
            requests.send(WatchRequest {
                change: Some(subscribe.clone()),
            })?;
            let queue = stream::unfold(queue, |mut queue| async {
                let request = queue.recv().await?;
                Some((request, queue))
            });
            let asked = Moment::now();
            match WatchServiceClient::new(watcher.clone()).watch(queue).await {
                Ok(answer) => {
                    return Ok(Self {
                        responses: answer.into_inner(),
                        asked,
                        _requests: requests,
                    });
                }
                Err(status) if Instant::now() > deadline => {
                    bail!("the watcher does not answer: {status}")
                }
                Err(_not_yet) => sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// The next event. Cancel safe.
    pub(crate) async fn next_event(&mut self) -> Result<Event> {
        let message = self.responses.message().await?;
        let event = message.context("the watcher has ended the stream")?.event;
        event.context("the watcher has sent an event of another kind")
    }

    /// The next delta, or a part of one. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<ViewDelta> {
        match self.next_event().await? {
            Event::Delta(delta) => Ok(delta),
            Event::Read(read) => bail!("a read of {} was not asked for", read.view_id),
            Event::Failure(failure) => {
                bail!("{} cannot be read: {}", failure.view_id, failure.message)
            }
        }
    }
}
