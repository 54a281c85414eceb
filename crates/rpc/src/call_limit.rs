//! Bounds the calls in progress over all connections of clients that are no services (docs/configuration.md#limits).

use std::future::ready;
use std::task::{Context, Poll};

use cts_listen::{ClientLimiter, ClientPermit, client_key};
use futures::future::{BoxFuture, Either};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use tonic::Status;
use tonic::body::Body;
use tower::{Layer, Service};

use crate::admission::ConnectedPeer;

/// Gives each call a permit until its answer has ended; no limit without a limiter.
#[derive(Debug, Clone)]
pub(crate) struct CallLimitLayer(pub(crate) Option<ClientLimiter>);

impl<S> Layer<S> for CallLimitLayer {
    type Service = LimitedService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        LimitedService {
            inner,
            limiter: self.0.clone(),
        }
    }
}

/// A service whose calls in progress are counted.
#[derive(Debug, Clone)]
pub(crate) struct LimitedService<S> {
    inner: S,
    limiter: Option<ClientLimiter>,
}

impl<S> Service<Request<Body>> for LimitedService<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response<Body>, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Some(limiter) = &self.limiter else {
            return Either::Left(self.inner.call(request));
        };
        let peer = request.extensions().get::<ConnectedPeer>();
        let address = peer.and_then(|peer| peer.address);
        let client = address.and_then(|address| client_key(address.ip()));
        Either::Right(match limiter.acquire(client) {
            Ok(permit) => {
                let call = self.inner.call(request);
                Box::pin(async move { Ok(call.await?.map(|body| holding(body, permit))) })
            }
            Err(why) => {
                tracing::debug!(client = ?address, "a gRPC call is refused: {why}");
                let text = format!("no call is free: {why}");
                Box::pin(ready(Ok(Status::resource_exhausted(text).into_http())))
            }
        })
    }
}

/// A body that keeps a permit until it is dropped.
fn holding(body: Body, permit: ClientPermit) -> Body {
    Body::new(body.map_frame(move |frame| {
        let _permit = &permit;
        frame
    }))
}
