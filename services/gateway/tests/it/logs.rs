//! A log service that serves the calls of a gateway.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use cts_proto::log::v1::log_service_server::LogService;
use cts_proto::log::v1::{
    AppendLogRequest, AppendLogResponse, LogAttempt, LogExcerpt, LogLine, LogSearchState,
    LogStream, ReadLogRequest, ReadLogResponse, ReadLogWindowRequest, ReadLogWindowResponse,
    SearchLogRequest, SearchLogResponse,
};
use cts_testkit::refused_calls;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

use crate::runs::{OTHER_RUN, RUN};

type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Has the log of one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryLogs {
    /// How it was asked for.
    pub(crate) reads: Arc<Mutex<Vec<ReadLogRequest>>>,
    /// End of the log after its first lines, for followers. Without it the log never ends.
    pub(crate) end: Option<Status>,
    /// Held by each log that never ends.
    pub(crate) endless: Arc<()>,
    /// A log that is not followed waits for this before its first line.
    pub(crate) gate: Option<Arc<tokio::sync::Semaphore>>,
    /// Refusal of a log that is not followed.
    pub(crate) refusal: Option<Status>,
    /// Parts of a mebibyte that the log has instead.
    pub(crate) large: u64,
    /// Windows and searches that were requested.
    pub(crate) windows: Arc<Mutex<Vec<ReadLogWindowRequest>>>,
    pub(crate) searches: Arc<Mutex<Vec<SearchLogRequest>>>,
    /// Has no windows and searches, as a scheduler of an earlier version.
    pub(crate) outdated: bool,
}

impl MemoryLogs {
    /// The refusal of a window or a search of this run and attempt, if any.
    fn refuse(&self, run: &str, attempt: u32) -> Result<(), Status> {
        match run {
            _ if self.outdated => Err(Status::unimplemented("inner text")),
            RUN | OTHER_RUN if attempt == 9 => Err(Status::out_of_range("attempt 9 is not known")),
            RUN | OTHER_RUN => Ok(()),
            "no-id" => Err(Status::invalid_argument("inner text")),
            _ => Err(Status::not_found("inner text")),
        }
    }
}

/// Two lines, one of which is cut.
fn two_excerpts() -> Vec<LogExcerpt> {
    let excerpt = |position, text: &str, bytes| LogExcerpt {
        position,
        stream: LogStream::Stdout.into(),
        text: text.to_owned(),
        bytes,
        address: String::new(),
    };
    vec![excerpt(7, "whole", 0), excerpt(8, "<cut", 70_000)]
}

/// Parts of a mebibyte each after the position `after`, one line each.
fn large_parts(count: u64, after: u64) -> impl Iterator<Item = ReadLogResponse> {
    (after + 1..=count).map(|position| ReadLogResponse {
        position,
        lines: vec![line(LogStream::Stdout, &"x".repeat(1 << 20))],
    })
}

fn line(stream: LogStream, text: &str) -> LogLine {
    LogLine {
        stream: stream.into(),
        text: text.to_owned(),
    }
}

#[tonic::async_trait]
impl LogService for MemoryLogs {
    type ReadLogStream = Messages<ReadLogResponse>;
    type SearchLogStream = Messages<SearchLogResponse>;

    refused_calls! {
        append_log: Streaming<AppendLogRequest> => AppendLogResponse;
    }

    async fn read_log_window(
        &self,
        request: Request<ReadLogWindowRequest>,
    ) -> Result<Response<ReadLogWindowResponse>, Status> {
        let request = request.into_inner();
        self.refuse(&request.run_id, request.attempt)?;
        self.windows.lock().unwrap().push(request);
        Ok(Response::new(ReadLogWindowResponse {
            lines: two_excerpts(),
            last_position: 8,
            attempts: vec![LogAttempt {
                number: 1,
                first_position: 1,
                lines: 8,
            }],
        }))
    }

    async fn search_log(
        &self,
        request: Request<SearchLogRequest>,
    ) -> Result<Response<Self::SearchLogStream>, Status> {
        let request = request.into_inner();
        self.refuse(&request.run_id, request.attempt)?;
        let answer = |lines, searched_from, state: LogSearchState| {
            Ok::<_, Status>(SearchLogResponse {
                lines,
                searched_from,
                state: state.into(),
            })
        };
        let progress = [
            answer(two_excerpts(), 7, LogSearchState::Searching),
            answer(Vec::new(), 5, LogSearchState::Searching),
        ];
        let end = match request.text.as_str() {
            "endless" => None,
            _ => Some(answer(Vec::new(), 3, LogSearchState::TimedOut)),
        };
        self.searches.lock().unwrap().push(request);
        let progress = tokio_stream::iter(progress);
        Ok(Response::new(if let Some(end) = end {
            Box::pin(progress.chain(tokio_stream::once(end)))
        } else {
            let held = Arc::clone(&self.endless);
            let silence = tokio_stream::pending().map(move |part| {
                let _held = &held;
                part
            });
            Box::pin(progress.chain(silence))
        }))
    }

    async fn read_log(
        &self,
        request: Request<ReadLogRequest>,
    ) -> Result<Response<Self::ReadLogStream>, Status> {
        let request = request.into_inner();
        self.reads.lock().unwrap().push(request.clone());
        match request.run_id.as_str() {
            RUN | OTHER_RUN => {}
            "no-id" => return Err(Status::invalid_argument("inner text")),
            _ => return Err(Status::not_found("inner text")),
        }
        if let Some(refusal) = self.refusal.clone().filter(|_refusal| !request.follow) {
            return Err(refusal);
        }
        if self.large > 0 {
            let parts = large_parts(self.large, request.after_position).map(Ok);
            let wanted = if request.one_part { 1 } else { usize::MAX };
            return Ok(Response::new(Box::pin(tokio_stream::iter(
                parts.take(wanted),
            ))));
        }
        let parts = [
            ReadLogResponse {
                position: 2,
                lines: vec![
                    line(LogStream::Stdout, "Plan: 1 to add"),
                    line(LogStream::Stderr, "é \"x\""),
                ],
            },
            ReadLogResponse {
                position: 3,
                lines: vec![line(LogStream::Stdout, "done")],
            },
        ];
        let after = request.after_position;
        let parts = parts.into_iter().filter(move |part| part.position > after);
        let parts = tokio_stream::iter(parts.map(Ok));
        Ok(Response::new(match (&self.end, request.follow) {
            (Some(end), true) => Box::pin(parts.chain(tokio_stream::once(Err(end.clone())))),
            (None, true) => {
                let held = Arc::clone(&self.endless);
                let silence = tokio_stream::pending().map(move |part| {
                    let _held = &held;
                    part
                });
                Box::pin(parts.chain(silence))
            }
            (_, false) => {
                let gate = self.gate.clone().filter(|_| after == 0);
                let opened = futures::stream::once(async move {
                    if let Some(gate) = gate {
                        gate.acquire().await.unwrap().forget();
                    }
                });
                Box::pin(opened.filter_map(|()| None).chain(parts))
            }
        }))
    }
}
