//! Metrics of the calls that a server answers (docs/telemetry.md#calls).

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{Request, Response};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use crate::admission;

/// The label of methods that are not in the table.
const OTHER_METHODS: &str = "_OTHER";

/// The answers to calls that their callers may not make.
const REASONS: [(Code, &str); 3] = [
    (Code::Unauthenticated, "unauthenticated"),
    (Code::PermissionDenied, "permission_denied"),
    (Code::Unimplemented, "unknown_method"),
];

/// Measures the calls of servers. Cheap to clone; clones share the numbers.
#[derive(Clone)]
pub struct CallMetrics(Arc<Instruments>);

struct Instruments {
    duration: Histogram<f64>,
    refused: Counter<u64>,
}

impl CallMetrics {
    /// Declares the instruments.
    pub fn new(meter: &Meter) -> Self {
        let duration = meter
            .f64_histogram("rpc.server.duration")
            .with_unit("s")
            .with_description("Time from a gRPC call to the beginning of its answer.")
            .build();
        let refused = meter
            .u64_counter("cts.calls.refused")
            .with_description("Calls and requests that were refused for want of a right.")
            .build();
        for (_code, reason) in REASONS {
            refused.add(0, &refusal(reason));
        }
        Self(Arc::new(Instruments { duration, refused }))
    }

    /// Records a call whose answer has begun.
    fn record(&self, method: &'static str, code: Code, took: Duration) {
        let labels = [
            KeyValue::new("rpc.system", "grpc"),
            KeyValue::new("rpc.method", method),
            KeyValue::new("rpc.grpc.status_code", i64::from(i32::from(code))),
        ];
        self.0.duration.record(took.as_secs_f64(), &labels);
        if let Some((_code, reason)) = REASONS.iter().find(|(refused, _)| *refused == code) {
            self.0.refused.add(1, &refusal(reason));
        }
    }
}

impl fmt::Debug for CallMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallMetrics").finish_non_exhaustive()
    }
}

fn refusal(reason: &'static str) -> [KeyValue; 2] {
    [
        KeyValue::new("interface", "grpc"),
        KeyValue::new("reason", reason),
    ]
}

/// The path of a method in the table: a label has no other values.
fn known(path: &str) -> &'static str {
    admission::method(path).map_or(OTHER_METHODS, |method| {
        method.path.strip_prefix('/').unwrap_or(method.path)
    })
}

/// Measures each call of a server.
#[derive(Debug, Clone)]
pub(crate) struct MeasuringLayer(pub(crate) Option<CallMetrics>);

impl<S> Layer<S> for MeasuringLayer {
    type Service = MeasuredService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        MeasuredService {
            inner,
            metrics: self.0.clone(),
        }
    }
}

/// A service whose calls are measured.
#[derive(Debug, Clone)]
pub(crate) struct MeasuredService<S> {
    inner: S,
    metrics: Option<CallMetrics>,
}

impl<S> Service<Request<Body>> for MeasuredService<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = MeasuredCall<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let measured = self.metrics.as_ref().map(|metrics| Measured {
            metrics: metrics.clone(),
            method: known(request.uri().path()),
            begun: Instant::now(),
        });
        MeasuredCall {
            call: self.inner.call(request),
            measured,
        }
    }
}

#[derive(Debug)]
struct Measured {
    metrics: CallMetrics,
    method: &'static str,
    begun: Instant,
}

pin_project! {
    /// A call whose duration is recorded when its answer begins.
    pub(crate) struct MeasuredCall<F> {
        #[pin]
        call: F,
        measured: Option<Measured>,
    }
}

impl<F, E> Future for MeasuredCall<F>
where
    F: Future<Output = Result<Response<Body>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.call.poll(cx));
        if let Some(measured) = this.measured.take() {
            let code = answer.as_ref().map_or(Code::Unknown, code);
            let Measured {
                metrics,
                method,
                begun,
            } = measured;
            metrics.record(method, code, begun.elapsed());
        }
        Poll::Ready(answer)
    }
}

/// The status of an answer; an answer that goes on has none yet.
fn code(answer: &Response<Body>) -> Code {
    Status::from_header_map(answer.headers()).map_or(Code::Ok, |status| status.code())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::METHODS;

    #[test]
    fn only_methods_of_the_table_are_labels() {
        assert!(METHODS.is_sorted_by_key(|method| method.path));
        for method in METHODS {
            assert_eq!(format!("/{}", known(method.path)), method.path);
        }
        assert_eq!(known("/cts.run.v1.RunService/Guess"), OTHER_METHODS);
    }
}
