//! `cts.log.v1.LogService`.

mod search;
mod window;

use std::pin::Pin;
use std::sync::Arc;

use cts_core::RunId;
use cts_core::callers::{Rights, VALUES_HIDDEN};
use cts_proto::log::v1 as proto;
use cts_proto::log::v1::log_service_server::LogService;
use cts_rpc::admission::{CallContext, rights};
use cts_rpc::{chunks, convert};
use cts_store::{LogLine, Store};
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use crate::grpc::lease_proofs::{Held, LeaseProofs};
use crate::grpc::log_service::search::search;
use crate::grpc::read_ahead::{made_ahead, read_ahead};
use crate::notifier::Notifier;
use crate::notifier::log_follower::LogFollower;
use crate::status::OrStatus as _;

/// Lines read at once.
const PAGE: u32 = 1000;

/// Lines read for a caller that takes one part: lines that do not fit into the part are read again for the next part.
const PART: u32 = 250;

#[derive(Debug)]
pub(crate) struct LogEndpoint {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) proofs: LeaseProofs,
    pub(crate) shutdown: CancellationToken,
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl LogEndpoint {
    /// The run with this id, whose log a caller with these rights may read.
    async fn readable(&self, rights: Rights, id: &str) -> Result<RunId, Status> {
        if !rights.sees_values {
            return Err(Status::permission_denied(VALUES_HIDDEN));
        }
        let run = convert::run_id(id)?;
        let known = self.store.run(run).await;
        if known.or_status()?.is_none() {
            return Err(Status::not_found(format!("there is no run {run}")));
        }
        Ok(run)
    }
}

#[tonic::async_trait]
impl LogService for LogEndpoint {
    type ReadLogStream = Answers<proto::ReadLogResponse>;
    type SearchLogStream = Answers<proto::SearchLogResponse>;

    async fn append_log(
        &self,
        request: Request<Streaming<proto::AppendLogRequest>>,
    ) -> Result<Response<proto::AppendLogResponse>, Status> {
        let (metadata, _, mut batches) = request.into_parts();
        while let Some(batch) = batches.message().await? {
            let Held { run, holder, epoch } =
                self.proofs
                    .held(&metadata, &batch.run_id, batch.worker_id, batch.epoch)?;
            let lines = storable_lines(batch.lines);
            self.store
                .append_log(run, &holder, epoch, lines)
                .await
                .or_status()?;
            self.notifier.log_grew(run);
        }
        Ok(Response::new(proto::AppendLogResponse {}))
    }

    async fn read_log(
        &self,
        request: Request<proto::ReadLogRequest>,
    ) -> Result<Response<Self::ReadLogStream>, Status> {
        let (rights, request) = (rights(&request), request.into_inner());
        let run = self.readable(rights, &request.run_id).await?;
        let follower = request
            .follow
            .then(|| LogFollower::new(Arc::clone(&self.notifier), run));
        let reader = Reader {
            store: Arc::clone(&self.store),
            run,
            page: if request.one_part { PART } else { PAGE },
            position: request.after_position,
            follower,
            shutdown: self.shutdown.clone(),
        };
        let pages = futures::stream::try_unfold(reader, Reader::next);
        let parts = pages.map_ok(|parts| futures::stream::iter(parts.into_iter().map(Ok)));
        let parts = parts.try_flatten();
        let wanted = if request.one_part { 1 } else { usize::MAX };
        Ok(Response::new(Box::pin(read_ahead(parts.take(wanted)))))
    }

    async fn read_log_window(
        &self,
        request: Request<proto::ReadLogWindowRequest>,
    ) -> Result<Response<proto::ReadLogWindowResponse>, Status> {
        let (rights, request) = (rights(&request), request.into_inner());
        let run = self.readable(rights, &request.run_id).await?;
        let window = window::read(&*self.store, run, &request).await?;
        Ok(Response::new(window))
    }

    async fn search_log(
        &self,
        request: Request<proto::SearchLogRequest>,
    ) -> Result<Response<Self::SearchLogStream>, Status> {
        let caller = CallContext::from_request(&request).caller.to_string();
        let (rights, request) = (rights(&request), request.into_inner());
        let run = self.readable(rights, &request.run_id).await?;
        if request.text.is_empty() {
            return Err(Status::invalid_argument("the text is empty"));
        }
        let (store, notifier) = (Arc::clone(&self.store), Arc::clone(&self.notifier));
        let (mut range, _) = window::span(&*store, run, request.attempt).await?;
        range.text = storable(request.text);
        let replaced = notifier.search_begins(caller);
        let ended = replaced.clone().drop_guard();
        let shutdown = self.shutdown.clone();
        let answers = made_ahead(|answers| async move {
            let _ended = ended;
            let search = search(&*store, &notifier, replaced, range, &answers);
            if let Some(Err(status)) = shutdown.run_until_cancelled(search).await {
                // Sending fails only without a client.
                drop(answers.send(Err(status)).await);
            }
        });
        Ok(Response::new(Box::pin(answers)))
    }
}

#[derive(Debug)]
struct Reader {
    store: Arc<dyn Store>,
    run: RunId,
    /// Lines read at once.
    page: u32,
    /// Position up to which the log has been read.
    position: u64,
    /// Present if the caller follows the log.
    follower: Option<LogFollower>,
    shutdown: CancellationToken,
}

impl Reader {
    /// The next lines as messages. If the caller follows, waits for lines; ends when no more lines will come.
    async fn next(mut self) -> Result<Option<(Vec<proto::ReadLogResponse>, Self)>, Status> {
        loop {
            let page = self
                .store
                .read_log(self.run, self.position, self.page)
                .await;
            // A run that was pruned in the meantime has no more lines.
            let Some(page) = page.or_status()? else {
                return Ok(None);
            };
            if !page.lines.is_empty() {
                let messages = messages(self.position, page.lines);
                self.position = page.position;
                return Ok(Some((messages, self)));
            }
            let Some(follower) = self.follower.as_ref().filter(|_| !page.ended) else {
                return Ok(None);
            };
            tokio::select! {
                () = follower.moved_behind(self.position) => {}
                // An end would mean that the log is complete.
                () = self.shutdown.cancelled() => {
                    return Err(Status::unavailable("this scheduler is shutting down"));
                }
            }
        }
    }
}

fn messages(after: u64, lines: Vec<LogLine>) -> Vec<proto::ReadLogResponse> {
    let mut position = after;
    chunks(lines, |line| line.text.len())
        .map(|lines| {
            position += lines.len() as u64;
            proto::ReadLogResponse { position, lines }
        })
        .collect()
}

/// Lines that every database takes.
pub(crate) fn storable_lines(mut lines: Vec<LogLine>) -> Vec<LogLine> {
    for line in &mut lines {
        line.text = storable(std::mem::take(&mut line.text));
    }
    lines
}

/// Text that every database takes: not all of them can hold a NUL.
pub(crate) fn storable(text: String) -> String {
    if text.contains('\0') {
        text.replace('\0', "\u{fffd}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_becomes_the_replacement_character() {
        assert_eq!(storable("a\0b".into()), "a\u{fffd}b");
        assert_eq!(storable("plain".into()), "plain");
    }
}
