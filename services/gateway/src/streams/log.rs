//! The log of a run (docs/rest.md#routes), which is requested part by part.

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use cts_core::Chain;
use cts_proto::log::v1::{LogExcerpt, LogSearchState, ReadLogResponse, SearchLogResponse};
use cts_rpc::CallFailure;
use futures::FutureExt as _;
use futures::StreamExt as _;
use futures::stream::unfold;
use http::header;
use tonic::{Status, Streaming};

use crate::api_request::ApiRequest;
use crate::json;
use crate::problem::Problem;
use crate::request::parameters::{self, LogFormat, LogPart};
use crate::request_id::RequestId;
use crate::scheduler_client::{CallError, RunClient};
use crate::streams::{Answer, Stop, UNBUFFERED, let_hyper_write};

/// The wanted part of the log of the run `run`.
pub(crate) async fn log(
    runs: &RunClient,
    run: &str,
    answer: Answer,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let (part, format) = parameters::log(request.query())?;
    request.visitor.may_see_values()?;
    let body = match part {
        LogPart::Rest { after, follow } => {
            let log = Log {
                call: Some(runs.log(run, after, follow).await?),
                runs: runs.clone(),
                run: run.to_owned(),
                position: after,
                answer: if follow { answer.endless() } else { answer },
                id: request.id,
            };
            // An error breaks the answer off, so that a part of the log does not look complete.
            let parts = unfold(Some(log), |log| async { log?.next().await });
            Body::from_stream(parts.map(move |part| part.map(|part| written(&part, format))))
        }
        LogPart::Line(position) => {
            let mut part = runs.log(run, position - 1, false).await?;
            let part = part.message().await.map_err(CallError::from)?;
            let mut line = part.unwrap_or_default();
            line.position = position;
            line.lines.truncate(1);
            written(&line, format).into()
        }
        LogPart::Window(window) => {
            let mut window = runs.log_window(run, window).await?;
            add_addresses(run, &mut window.lines);
            match format {
                LogFormat::Text => excerpts(&window.lines, false).into(),
                LogFormat::Ndjson => json::line(&window).into(),
            }
        }
        LogPart::Search(search) => {
            let found = runs.search_log(run, search, &request.on_behalf()).await?;
            let (run, mut answer) = (run.to_owned(), answer.endless());
            // A search without its last message has not ended by itself.
            let found = found.take_until(async move { answer.stops().await });
            Body::from_stream(found.map(move |message| {
                message.map(|mut message| {
                    add_addresses(&run, &mut message.lines);
                    match format {
                        LogFormat::Text => progress(&message).into_bytes(),
                        LogFormat::Ndjson => json::line(&message),
                    }
                })
            }))
        }
    };
    let content_type = match format {
        LogFormat::Text => "text/plain; charset=utf-8",
        LogFormat::Ndjson => "application/x-ndjson",
    };
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok(([UNBUFFERED], headers, body).into_response())
}

/// Adds the addresses of the whole lines to lines that are cut.
fn add_addresses(run: &str, lines: &mut [LogExcerpt]) {
    for line in lines.iter_mut().filter(|line| line.bytes > 0) {
        line.address = format!("/v1/runs/{run}/log?line={}", line.position);
    }
}

/// The lines as text, with or without their positions.
fn excerpts(lines: &[LogExcerpt], with_positions: bool) -> String {
    let lines = lines.iter().map(|line| {
        let position = with_positions.then(|| format!("{}:", line.position));
        let (bytes, address) = (line.bytes, &line.address);
        let cut = (bytes > 0).then(|| format!(" … (cut, {bytes} bytes: {address})"));
        let (position, cut) = (position.unwrap_or_default(), cut.unwrap_or_default());
        format!("{position}{}{cut}\n", line.text)
    });
    lines.collect::<Vec<_>>().concat()
}

/// A message of a search as text.
fn progress(message: &SearchLogResponse) -> String {
    let text = excerpts(&message.lines, true);
    if message.state() == LogSearchState::Searching && !message.lines.is_empty() {
        return text;
    }
    let reason = message.state().early_end();
    let reason = reason
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    format!(
        "{text}searched from line {}{reason}\n",
        message.searched_from
    )
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
