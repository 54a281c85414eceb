//! Access control of the API (docs/access.md).
//!
//! `requirement` compares the caller of one request, the `visitor`, with the needs of the endpoint. The schedulers send the
//! static tokens (`tokens`) and record refused requests (`refusals`).

pub(crate) mod credential;
mod refusals;
mod requirement;
mod tokens;
pub(crate) mod visitor;

use std::net::IpAddr;
use std::sync::Arc;

use cts_access::{Authenticator, Denied, Issuers, Principal, bearer};
use cts_core::callers::{CallerKind, PlanValues, ServiceRoles, TaskPatterns};
use cts_proto::access::v1::access_service_client::AccessServiceClient;
use cts_tls::PeerCertificate;
use http::HeaderMap;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use self::credential::Credential;
use self::refusals::{FailureLog, RefusedRequests};
use self::requirement::check;
use self::tokens::Tokens;
use self::visitor::Visitor;
use crate::endpoint::{Tasks, endpoint};
use crate::options::AccessOptions;
use crate::problem::Problem;
use crate::route::Route;
use crate::transport::connection::Connection;

pub(crate) use self::refusals::RequestSummary;

/// Checks requests. One value serves all connections of a gateway.
#[derive(Debug)]
pub(crate) struct Access {
    required: bool,
    domain: Option<String>,
    plan_values: PlanValues,
    authenticator: Authenticator,
    issuers: Issuers,
    tokens: Tokens,
    refused: RefusedRequests,
    failures: FailureLog,
}

impl Access {
    pub(crate) fn new(options: AccessOptions) -> Self {
        let (tokens, table) = Tokens::new();
        Self {
            required: options.required,
            domain: options.domain,
            plan_values: options.plan_values,
            authenticator: Authenticator::new(table, options.issuers.clone(), options.clock),
            issuers: options.issuers,
            tokens,
            refused: RefusedRequests::default(),
            failures: FailureLog::default(),
        }
    }

    /// Whether each request needs a credential.
    pub(crate) const fn is_required(&self) -> bool {
        self.required
    }

    /// The owner of a certificate that a client has shown.
    pub(crate) fn holder(&self, certificate: &PeerCertificate) -> Principal {
        let names = certificate.dns_names.iter().map(String::as_str);
        Principal {
            kind: CallerKind::Certificate,
            name: certificate.name().to_owned(),
            issuer: String::new(),
            role: ServiceRoles::of(names, self.domain.as_deref()).person(),
            tasks: TaskPatterns::default(),
            expires_at: None,
        }
    }

    /// Follows the tokens of the schedulers and the keys of the issuers until `shutdown`.
    pub(crate) async fn follow(
        &self,
        schedulers: AccessServiceClient<Channel>,
        shutdown: &CancellationToken,
    ) {
        if !self.required {
            return shutdown.cancelled().await;
        }
        let tokens = shutdown.run_until_cancelled(self.tokens.follow(schedulers));
        let keys = self.issuers.follow(shutdown.cancelled());
        tokio::join!(tokens, keys);
    }

    /// Hands refused requests to the schedulers until `end`, and once more then.
    pub(crate) async fn record_refusals(
        &self,
        schedulers: AccessServiceClient<Channel>,
        end: &CancellationToken,
    ) {
        self.refused.record(schedulers, end.cancelled()).await;
    }

    /// Finds out who makes a request. A wrong credential is answered after a pause, which grows with the failures of its
    /// address.
    pub(crate) async fn identify(
        &self,
        route: &Route,
        headers: &HeaderMap,
        connection: &Connection,
        address: IpAddr,
    ) -> Result<Visitor, Problem> {
        let by_certificate = connection.certificate.as_ref();
        if !self.required || endpoint(route).tasks == Tasks::Open {
            return Ok(Visitor::of(by_certificate.cloned()));
        }
        if !self.tokens.are_known() {
            return Err(Problem::tokens_not_known());
        }
        let Some(token) = bearer(headers) else {
            let with_role = by_certificate.filter(|holder| holder.role.is_some());
            return match with_role {
                Some(holder) => Ok(Visitor::in_role(Arc::clone(holder), self.plan_values)),
                None => Err(Problem::unauthenticated("without a credential")),
            };
        };
        let denied = match self.authenticator.bearer(token.unwrap_or_default()).await {
            Ok(principal) => return Ok(Visitor::in_role(principal, self.plan_values)),
            Err(denied) => denied,
        };
        self.failures.count(address, &denied);
        tokio::select! {
            () = self.authenticator.pause(Some(address)) => {}
            () = connection.closing.cancelled() => {}
        }
        Err(Problem::unauthenticated(&reason(&denied)))
    }

    /// The credential of a request that was identified, for an answer that goes on.
    pub(crate) fn credential(&self, headers: &HeaderMap) -> Credential {
        match bearer(headers) {
            Some(Ok(token)) if self.required => Credential::of(self.authenticator.clone(), token),
            _ => Credential::lasting(),
        }
    }

    /// Refuses a request for which the caller has no right. Handlers refuse requests for tasks that only the handlers
    /// know.
    pub(crate) fn permit(&self, route: &Route, visitor: &Visitor) -> Result<(), Problem> {
        match (route, self.required) {
            (Route::Audit, false) => Err(Problem::audit_needs_authentication()),
            (_, false) => Ok(()),
            (_, true) => check(endpoint(route), visitor),
        }
    }

    /// Notes a refused request for the audit records; other problems are none.
    pub(crate) fn note(&self, visitor: &Visitor, summary: &RequestSummary, problem: &Problem) {
        if let Some(reason) = problem.refusal() {
            self.refused
                .note(visitor.caller(summary.address), summary, reason);
        }
    }
}

fn reason(denied: &Denied) -> String {
    format!("wrong credential: {denied}")
}
