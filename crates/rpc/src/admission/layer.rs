//! Checks each call before its handler sees it, and passes the caller to the handler.

use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use cts_access::bearer;
use cts_core::callers::{Caller, CallerKind};
use cts_listen::WarnThrottle;
use futures::future::{BoxFuture, Either};
use http::{HeaderMap, Request, Response};
use tonic::Status;
use tonic::body::Body;
use tower::{Layer, Service, ServiceExt as _};

use super::caller::CallContext;
use super::check::{AccessRules, Verdict, judge_token, method, no_credential};
use super::peer::ConnectedPeer;

/// The checks of one listener; `None` for callers within this process.
#[derive(Debug, Clone)]
pub(crate) struct AccessLayer(Option<Arc<Checks>>);

#[derive(Debug)]
struct Checks {
    rules: AccessRules,
    /// Whether the listener serves TLS.
    tls: bool,
    warnings: WarnThrottle,
}

impl AccessLayer {
    /// For callers within this process: no call is refused.
    pub(crate) const fn memory() -> Self {
        Self(None)
    }

    /// For callers over a network, with or without TLS.
    pub(crate) fn network(rules: AccessRules, tls: bool) -> Self {
        Self(Some(Arc::new(Checks {
            rules,
            tls,
            warnings: WarnThrottle::default(),
        })))
    }
}

impl<S> Layer<S> for AccessLayer {
    type Service = AccessService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        AccessService {
            inner,
            checks: self.0.clone(),
        }
    }
}

/// A service whose calls are checked.
#[derive(Debug, Clone)]
pub(crate) struct AccessService<S> {
    inner: S,
    checks: Option<Arc<Checks>>,
}

impl<S> Service<Request<Body>> for AccessService<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response<Body>, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let Some(checks) = &self.checks else {
            let context = CallContext::from_headers(request.headers())
                .unwrap_or_else(|| CallContext::of(Caller::anonymous(None)));
            request.extensions_mut().insert(context);
            return Either::Left(self.inner.call(request));
        };
        let peer = request.extensions().get::<ConnectedPeer>().cloned();
        let peer = peer.unwrap_or_default();
        let token = bearer(request.headers()).and_then(Result::ok);
        let token = token.filter(|token| !token.is_empty());
        let path = request.uri().path();
        let verdict = match checks.foreign(&request) {
            Some(status) => Verdict::Refused(status),
            None => checks
                .rules
                .judge(path, peer.identity.as_deref(), token.is_some()),
        };
        match verdict {
            Verdict::Admitted => {
                let context = context(&checks.rules, &peer, request.headers());
                let rights = checks.rules.rights(peer.identity.as_deref());
                request.extensions_mut().insert(context);
                request.extensions_mut().insert(rights);
                Either::Left(self.inner.call(request))
            }
            Verdict::Refused(status) => {
                checks.note(path, certified(&peer), &status);
                Either::Right(Box::pin(async move { Ok(status.into_http()) }))
            }
            Verdict::Token(rule) => {
                let (checks, inner) = (Arc::clone(checks), self.inner.clone());
                let address = address(&peer);
                let token = token.unwrap_or_default().to_owned();
                Either::Right(Box::pin(async move {
                    let path = request.uri().path();
                    let judged = checks.recognise(path, &token, address).await;
                    let judged = judged.and_then(|(caller, principal)| {
                        match judge_token(path, rule, &principal) {
                            Ok(()) => Ok((caller, checks.rules.rights_of(principal.role))),
                            Err(status) => Err((caller, status)),
                        }
                    });
                    match judged {
                        Ok((caller, rights)) => {
                            request.extensions_mut().insert(CallContext::of(caller));
                            request.extensions_mut().insert(rights);
                            inner.oneshot(request).await
                        }
                        Err((caller, status)) => {
                            checks.note(path, caller, &status);
                            Ok(status.into_http())
                        }
                    }
                }))
            }
        }
    }
}

impl Checks {
    /// The refusal of a call that a browser sends for a page of another site.
    fn foreign(&self, request: &Request<Body>) -> Option<Status> {
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        let checked = self.rules.browsers.check(method, uri, headers, self.tls);
        checked
            .err()
            .map(|foreign| Status::permission_denied(foreign.to_string()))
    }

    /// The owner of a token. A wrong credential is answered after a pause that grows.
    async fn recognise(
        &self,
        path: &str,
        token: &str,
        address: Option<IpAddr>,
    ) -> Result<(Caller, Arc<cts_access::Principal>), (Caller, Status)> {
        let refused = || (Caller::anonymous(address), no_credential(method(path)));
        let Some(authenticator) = &self.rules.authenticator else {
            return Err(refused());
        };
        match authenticator.bearer(token).await {
            Ok(principal) => Ok((principal.caller(address), principal)),
            Err(denied) => {
                tracing::debug!(client = ?address, "a token is refused: {denied}");
                authenticator.pause(address).await;
                Err(refused())
            }
        }
    }

    /// Logs and records a refused call.
    fn note(&self, path: &str, caller: Caller, status: &Status) {
        let reason = status.message();
        if self.warnings.is_due() {
            tracing::warn!(%caller, client = ?caller.address, "a gRPC call is refused: {reason}");
        } else {
            tracing::debug!(%caller, client = ?caller.address, "a gRPC call is refused: {reason}");
        }
        if let Some(refusals) = &self.rules.refusals {
            refusals.note(caller, method(path), reason, "");
        }
    }
}

/// The caller of an admitted call.
fn context(rules: &AccessRules, peer: &ConnectedPeer, headers: &HeaderMap) -> CallContext {
    let named = rules
        .believes(peer.identity.as_deref())
        .then(|| CallContext::from_headers(headers))
        .flatten();
    named.unwrap_or_else(|| CallContext::of(certified(peer)))
}

/// The caller that the certificate of a connection names.
fn certified(peer: &ConnectedPeer) -> Caller {
    let address = address(peer);
    match &peer.identity {
        Some(identity) => Caller::new(CallerKind::Certificate, &identity.name, address),
        None => Caller::anonymous(address),
    }
}

fn address(peer: &ConnectedPeer) -> Option<IpAddr> {
    peer.address.map(|address| address.ip().to_canonical())
}
