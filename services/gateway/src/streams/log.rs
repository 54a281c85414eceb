//! The log of a run (docs/rest.md#routes), which is requested part by part.

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use cts_core::Chain;
use cts_proto::log::v1::ReadLogResponse;
use cts_rpc::CallFailure;
use futures::FutureExt as _;
use futures::StreamExt as _;
use futures::stream::unfold;
use http::header;
use tonic::{Status, Streaming};

use crate::api_request::ApiRequest;
use crate::json;
use crate::problem::Problem;
use crate::request::parameters::{self, LogFormat};
use crate::request_id::RequestId;
use crate::scheduler_client::RunClient;
use crate::streams::{Answer, Stop, UNBUFFERED, let_hyper_write};

/// The log of the run `run`.
pub(crate) async fn log(
    runs: &RunClient,
    run: &str,
    answer: Answer,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let query = parameters::log(request.query())?;
    request.visitor.may_see_values()?;
    let call = runs.log(run, query.after, query.follow).await?;
    let log = Log {
        call: Some(call),
        runs: runs.clone(),
        run: run.to_owned(),
        position: query.after,
        answer: if query.follow {
            answer.endless()
        } else {
            answer
        },
        id: request.id,
    };
    // An error breaks the answer off, so that a part of the log does not look complete.
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
    Ok(([UNBUFFERED], headers, Body::from_stream(parts)).into_response())
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
        LogFormat::Ndjson => json::line(part).into(),
    }
}

/// A log on its way to a client.
struct Log {
    /// The call for the next part, if it is made already.
    call: Option<Streaming<ReadLogResponse>>,
    runs: RunClient,
    run: String,
    /// Position of the last line that the client has got.
    position: u64,
    answer: Answer,
    id: RequestId,
}

/// Result of a call for a part.
enum Part {
    Lines(ReadLogResponse),
    /// The log has no more.
    Over,
    /// The client has closed its half, and gets the existing lines.
    NoLongerFollowed,
    Failed(Status),
}

impl Log {
    /// The next part and the log after it; the last part may be an error.
    async fn next(mut self) -> Option<(Result<ReadLogResponse, Status>, Option<Self>)> {
        loop {
            match self.part().await {
                Part::Lines(part) => {
                    self.position = part.position;
                    return Some((Ok(part), Some(self)));
                }
                Part::Over => return None,
                Part::NoLongerFollowed => self.answer.endless = None,
                Part::Failed(status) => {
                    let_hyper_write().await;
                    return Some((Err(status), None));
                }
            }
        }
    }

    async fn part(&mut self) -> Part {
        let mut call = if let Some(call) = self.call.take() {
            call
        } else {
            let follow = self.answer.endless.is_some();
            match self.runs.log(&self.run, self.position, follow).await {
                Ok(call) => call,
                Err(error) => {
                    tracing::warn!(
                        request_id = %self.id,
                        error = %Chain(&error),
                        "a log broke off because its rest cannot be read"
                    );
                    return Part::Failed(Status::unavailable("the rest of the log is missing"));
                }
            }
        };
        let message = tokio::select! {
            biased;
            stop = self.answer.stops() => {
                if let Stop::ByClient = stop {
                    return Part::NoLongerFollowed;
                }
                // A log that has ended already is complete.
                if let Some(Ok(None)) = call.message().now_or_never() {
                    return Part::Over;
                }
                tracing::debug!(request_id = %self.id, "a log ends before its run, with the gateway or its token");
                return Part::Failed(Status::unavailable("the gateway ends before the log"));
            }
            message = call.message() => message,
        };
        match message {
            Ok(Some(lines)) => Part::Lines(lines),
            Ok(None) => Part::Over,
            Err(status) => {
                tracing::warn!(
                    request_id = %self.id,
                    error = %CallFailure(&status),
                    "an answer broke off because its source did"
                );
                Part::Failed(status)
            }
        }
    }
}
