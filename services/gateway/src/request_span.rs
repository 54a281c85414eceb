//! Spans of requests that may lead to a run (docs/telemetry.md#spans).

use chrono::{DateTime, Utc};
use cts_core::TraceContext;
use cts_rpc::TRACE_METADATA;
use cts_telemetry::{Span, Traces};
use http::request::Parts;
use http::{Method, StatusCode};
use opentelemetry::KeyValue;
use opentelemetry::trace::SpanKind;
use opentelemetry_semantic_conventions::attribute::{
    HTTP_REQUEST_METHOD, HTTP_RESPONSE_STATUS_CODE, HTTP_ROUTE,
};

use crate::endpoint::endpoint;
use crate::route::Route;

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct RequestSpan {
    context: TraceContext,
    /// The span of the client, if the request names a span.
    client: Option<TraceContext>,
    method: Method,
    route: &'static str,
    begun: DateTime<Utc>,
}

impl RequestSpan {
    /// Begins the span of a request; `None` without tracing, and for a request that leads to no run.
    pub(crate) fn begin(traces: &Traces, route: &Route, head: &Parts) -> Option<Self> {
        if !may_run(route) {
            return None;
        }
        let begun = traces.now()?;
        let client = head.headers.get(TRACE_METADATA);
        let client: Option<TraceContext> = client.and_then(|it| it.to_str().ok()?.parse().ok());
        Some(Self {
            context: traces.begin(client.map(|client| client.trace))?,
            client,
            method: head.method.clone(),
            route: endpoint(route).template,
            begun,
        })
    }

    /// Its ids.
    pub(crate) const fn context(&self) -> TraceContext {
        self.context
    }

    /// Exports the span if the sampling rate keeps its trace, or if the answer is an error.
    pub(crate) fn answered(self, traces: &Traces, status: StatusCode) {
        let failed = status.is_server_error();
        let is_error = failed || status.is_client_error();
        let Some(now) = traces.now() else {
            return;
        };
        if !is_error && !traces.keeps(self.context.trace) {
            return;
        }
        let parent = self.client.map(|client| client.span);
        let mut span = Span::new("request", self.context, parent, (self.begun, now));
        span.kind = SpanKind::Server;
        span.failed = failed;
        span.attributes = vec![
            KeyValue::new(HTTP_REQUEST_METHOD, self.method.to_string()),
            KeyValue::new(HTTP_ROUTE, self.route),
            KeyValue::new(HTTP_RESPONSE_STATUS_CODE, i64::from(status.as_u16())),
        ];
        traces.export(span);
    }
}

/// Whether requests for a route may lead to a run.
const fn may_run(route: &Route) -> bool {
    matches!(
        route,
        Route::CreateTask
            | Route::ReplaceTask(_)
            | Route::UpdateTask(_)
            | Route::DeleteTask(_)
            | Route::PlanDestruction(_)
    )
}
