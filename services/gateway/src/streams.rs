//! Answers that go on: events of runs, and logs of runs that are followed. They end with their source, with
//! the client or with the gateway.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use cts_proto::log::v1::ReadLogResponse;
use futures::Stream;
use futures::stream::{once, unfold};
use http::header;
use tokio_stream::StreamExt as _;
use tonic::{Status, Streaming};

use crate::ask::RunQuestions;
use crate::connection::Connection;
use crate::json;
use crate::model::{LogLines, RunChange};
use crate::parameters::{self, LogFormat};
use crate::problem::Problem;
use crate::request_log::RequestId;
use crate::server::LocalTime;
use crate::timed_stream::Answering;

/// What is between us and a client may take silence for death.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// How long a client that has lost its events waits before it asks again.
const COME_BACK_AFTER: Duration = Duration::from_secs(1);

/// Changes of runs as server-sent events of the type `run`, from now on. A client that is cut off has
/// missed some, and reads the list of runs if that matters to it.
pub(crate) async fn events(
    questions: &RunQuestions,
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
    let changes = Followed::new(changes, connection, id)
        .stream()
        .map_while(Result::ok)
        .filter_map(move |change| {
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
    questions: &RunQuestions,
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
    // An error breaks the answer off, so that nobody takes a part of the log for all of it.
    let parts = Followed::new(parts, connection, id)
        .stream()
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

/// Messages of the scheduler on their way to a client.
struct Followed<T> {
    messages: Streaming<T>,
    connection: Connection,
    id: RequestId,
    /// Silence is no reason to close the connection meanwhile.
    _answering: Answering,
}

impl<T: Send + 'static> Followed<T> {
    fn new(messages: Streaming<T>, connection: &Connection, id: RequestId) -> Self {
        Self {
            messages,
            _answering: connection.activity.answering(),
            connection: connection.clone(),
            id,
        }
    }

    /// The messages until they end, or the gateway does; the last may be an error.
    fn stream(self) -> impl Stream<Item = Result<T, Status>> + Send {
        unfold(Some(self), |followed| async {
            let mut followed = followed?;
            let message = tokio::select! {
                biased;
                () = followed.connection.closing.cancelled() => return None,
                message = followed.messages.message() => message.transpose()?,
            };
            if let Err(status) = &message {
                tracing::warn!(
                    request_id = %followed.id,
                    error = status.to_string(),
                    "an answer broke off because its source did"
                );
                // An error makes hyper drop what it has not written yet, which it does while it waits.
                tokio::task::yield_now().await;
                return Some((message, None));
            }
            Some((message, Some(followed)))
        })
    }
}
