//! Answers that go on: events of runs, and logs of runs that are followed. They end with their source, with
//! the client or with the gateway. A log that ends with the gateway is broken off, so that a part of it does not look
//! complete. Events just end.
//!
//! A client that has gone looks like one that has closed its half of the connection. One that follows gets what there
//! is by then, and no more.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use cts_core::Chain;
use cts_proto::log::v1::ReadLogResponse;
use futures::FutureExt as _;
use futures::future::pending;
use futures::stream::{once, unfold};
use http::header;
use tokio_stream::StreamExt as _;
use tonic::{Status, Streaming};

use crate::model::{LogLines, RunChange};
use crate::options::LocalTime;
use crate::problem::Problem;
use crate::request::parameters::{self, LogFormat};
use crate::scheduler_client::RunClient;
use crate::transport::connection::Connection;
use crate::transport::json;
use crate::transport::request_log::RequestId;
use crate::transport::timed_stream::{Answering, Endless};

/// What is between us and a client may take silence for death.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// How long a client that has lost its events waits before it asks again.
const COME_BACK_AFTER: Duration = Duration::from_secs(1);

/// Changes of runs as server-sent events of the type `run`, from now on. A client that is cut off has
/// missed some, and reads the list of runs if that matters to it.
pub(crate) async fn events(
    questions: &RunClient,
    query: Option<&str>,
    connection: &Connection,
    local_time: LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let task = parameters::events(query)?;
    let changes = questions
        .follow(&task)
        .await
        .map_err(|error| Problem::unanswered(&error, None, id))?;
    let beginning = once(async {
        let event = Event::default().comment("following runs");
        Ok::<_, Infallible>(event.retry(COME_BACK_AFTER))
    });
    let changes = Followed::new(changes, true, connection, id);
    let changes = unfold(changes, |mut changes| async {
        match changes.next().await {
            Next::Message(change) => Some((change, changes)),
            Next::Failed(_) | Next::ClientClosed | Next::GatewayCloses | Next::Over => None,
        }
    });
    let changes = changes.filter_map(move |change| {
        let change = RunChange::new(&change, local_time.as_ref());
        let event = Event::default().event("run").json_data(&change);
        event.ok().map(Ok)
    });
    let events = futures::StreamExt::chain(beginning, changes);
    let keep_alive = KeepAlive::new().interval(SIGN_OF_LIFE);
    Ok(Sse::new(events).keep_alive(keep_alive).into_response())
}

/// The log of the run `run`.
pub(crate) async fn log(
    questions: &RunClient,
    run: &str,
    query: Option<&str>,
    connection: &Connection,
    id: RequestId,
) -> Result<Response, Problem> {
    let query = parameters::log(query)?;
    let parts = questions
        .log(run, query.after, query.follow)
        .await
        .map_err(|error| Problem::unanswered_run(&error, run, id))?;
    let log = Log {
        parts: Followed::new(parts, query.follow, connection, id),
        questions: questions.clone(),
        run: run.to_owned(),
        position: query.after,
    };
    // An error breaks the answer off, so that a part of the log is not taken for all of it.
    let parts = unfold(Some(log), |log| async { log?.next().await })
        .map(move |part| part.map(|part| written(&part, query.format)));
    let content_type = match query.format {
        LogFormat::Text => "text/plain; charset=utf-8",
        LogFormat::Ndjson => "application/x-ndjson",
    };
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, Body::from_stream(parts)).into_response())
}

fn written(part: &ReadLogResponse, format: LogFormat) -> Bytes {
    match format {
        LogFormat::Text => {
            let lines = part.lines.iter();
            lines
                .flat_map(|line| [line.text.as_str(), "\n"])
                .collect::<String>()
                .into()
        }
        LogFormat::Ndjson => json::line(&LogLines::from(part)).into(),
    }
}

/// The log of a run on its way to a client.
struct Log {
    parts: Followed<ReadLogResponse>,
    questions: RunClient,
    run: String,
    /// What the client has got.
    position: u64,
}

impl Log {
    /// The next part and what comes behind it; the last may be an error.
    async fn next(mut self) -> Option<(Result<ReadLogResponse, Status>, Option<Self>)> {
        loop {
            match self.parts.next().await {
                Next::Message(part) => {
                    self.position = part.position;
                    return Some((Ok(part), Some(self)));
                }
                Next::Failed(status) => return Some((Err(status), None)),
                Next::GatewayCloses => {
                    let status = Status::unavailable("the gateway ends before the log");
                    return Some((Err(status), None));
                }
                Next::Over => return None,
                Next::ClientClosed => {
                    let rest = self.questions.log(&self.run, self.position, false);
                    self.parts.messages = match rest.await {
                        Ok(messages) => messages,
                        Err(error) => {
                            tracing::warn!(
                                request_id = %self.parts.id,
                                error = %Chain(&error),
                                "a log broke off because its rest cannot be read"
                            );
                            let status = Status::unavailable("the rest of the log is missing");
                            return Some((Err(status), None));
                        }
                    };
                    self.parts.endless = None;
                }
            }
        }
    }
}

/// Messages of the scheduler on their way to a client.
struct Followed<T> {
    messages: Streaming<T>,
    connection: Connection,
    id: RequestId,
    /// Silence is no reason to close the connection meanwhile.
    _answering: Answering,
    /// There while the messages have no end of their own.
    endless: Option<Endless>,
}

/// What comes next.
enum Next<T> {
    Message(T),
    /// The source has failed.
    Failed(Status),
    /// The client sends no more: it has gone, or has closed its half.
    ClientClosed,
    /// The gateway ends, and the messages have not ended yet.
    GatewayCloses,
    Over,
}

impl<T: Send + 'static> Followed<T> {
    fn new(
        messages: Streaming<T>,
        is_endless: bool,
        connection: &Connection,
        id: RequestId,
    ) -> Self {
        Self {
            messages,
            _answering: connection.activity.answering(),
            endless: is_endless.then(|| connection.activity.endless()),
            connection: connection.clone(),
            id,
        }
    }

    async fn next(&mut self) -> Next<T> {
        // An answer with an end of its own is a request in progress, which the gateway lets finish.
        let closing = async {
            match &self.endless {
                Some(_) => self.connection.closing.cancelled().await,
                None => pending().await,
            }
        };
        let client_closed = async {
            match &self.endless {
                Some(endless) => endless.peer_closed().await,
                None => pending().await,
            }
        };
        let message = tokio::select! {
            biased;
            () = closing => return self.cut_off().await,
            () = client_closed => return Next::ClientClosed,
            message = self.messages.message() => message,
        };
        match message {
            Ok(Some(message)) => Next::Message(message),
            Ok(None) => Next::Over,
            Err(status) => {
                tracing::warn!(
                    request_id = %self.id,
                    error = status.to_string(),
                    "an answer broke off because its source did"
                );
                let_hyper_write().await;
                Next::Failed(status)
            }
        }
    }

    /// Ends with the gateway. If the messages have ended already, the answer is whole.
    async fn cut_off(&mut self) -> Next<T> {
        if let Some(Ok(None)) = self.messages.message().now_or_never() {
            return Next::Over;
        }
        tracing::debug!(request_id = %self.id, "an answer ends before its source, with the gateway");
        let_hyper_write().await;
        Next::GatewayCloses
    }
}

/// Waits once: hyper writes what it has while a body waits, and drops it when the body fails.
async fn let_hyper_write() {
    tokio::task::yield_now().await;
}
