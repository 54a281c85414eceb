//! Access control of the API (docs/access.md).
//!
//! `requirement` compares the caller of one request, the `visitor`, with the needs of the endpoint. The schedulers send the
//! static tokens (`tokens`) and the sessions of the page (`sessions`), and record refused requests (`refusals`).

pub(crate) mod credential;
mod refusals;
mod requirement;
mod retries;
mod sessions;
mod tokens;
pub(crate) mod visitor;

use std::net::IpAddr;
use std::sync::Arc;

use cts_access::{
    Authenticator, Denied, IssuerLogin, Issuers, LoginSettings, Principal, Session, SessionSecret,
    TokenHash, bearer,
};
use cts_core::callers::{CallerKind, PlanValues, ServiceRoles, TaskPatterns};
use cts_proto::access::v1 as proto;
use cts_proto::access::v1::access_service_client::AccessServiceClient;
use cts_proto::access::v1::session_service_client::SessionServiceClient;
use cts_tls::PeerCertificate;
use http::HeaderMap;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use self::credential::Credential;
use self::refusals::{FailureLog, RefusedRequests};
use self::requirement::check;
use self::sessions::Sessions;
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
    /// `None` if the page has no logins.
    sessions: Option<Sessions>,
    refused: RefusedRequests,
    failures: FailureLog,
}

impl Access {
    pub(crate) fn new(options: AccessOptions) -> Self {
        let (tokens, table) = Tokens::new();
        let has_logins = options.required && options.logins;
        let sessions = has_logins.then(|| Sessions::new(Arc::clone(&options.clock)));
        Self {
            required: options.required,
            domain: options.domain,
            plan_values: options.plan_values,
            authenticator: Authenticator::new(table, options.issuers.clone(), options.clock),
            issuers: options.issuers,
            tokens,
            sessions,
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

    /// Follows the tokens and sessions of the schedulers, and the keys of the issuers, until `shutdown`.
    pub(crate) async fn follow(
        &self,
        schedulers: AccessServiceClient<Channel>,
        sessions: SessionServiceClient<Channel>,
        shutdown: &CancellationToken,
    ) {
        if !self.required {
            return shutdown.cancelled().await;
        }
        let tokens = shutdown.run_until_cancelled(self.tokens.follow(schedulers));
        let keys = self.issuers.follow(shutdown.cancelled());
        let sessions = async {
            if let Some(known) = &self.sessions {
                shutdown.run_until_cancelled(known.follow(sessions)).await;
            }
        };
        tokio::join!(tokens, keys, sessions);
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
        if !self.required || endpoint(route).tasks == Tasks::Open {
            return Ok(Visitor::of(connection.certificate.clone()));
        }
        if !self.tokens.are_known() {
            return Err(Problem::not_known_yet("tokens"));
        }
        let Some(token) = bearer(headers) else {
            let without = || Problem::unauthenticated("without a credential");
            return self.by_certificate(connection).ok_or_else(without);
        };
        let principal = self.bearer(token.unwrap_or_default(), connection, address);
        Ok(Visitor::in_role(principal.await?, self.plan_values))
    }

    /// The caller that has shown a certificate with a role.
    pub(crate) fn by_certificate(&self, connection: &Connection) -> Option<Visitor> {
        let holder = connection.certificate.as_ref()?;
        holder.role?;
        Some(Visitor::in_role(Arc::clone(holder), self.plan_values))
    }

    /// The owner of a bearer token. A wrong one is answered after the pause.
    pub(crate) async fn bearer(
        &self,
        token: &str,
        connection: &Connection,
        address: IpAddr,
    ) -> Result<Arc<Principal>, Problem> {
        if !self.tokens.are_known() {
            return Err(Problem::not_known_yet("tokens"));
        }
        match self.authenticator.bearer(token).await {
            Ok(principal) => Ok(principal),
            Err(denied) => Err(self.denied(&denied, connection, address).await),
        }
    }

    /// Counts a wrong credential of an address. Returns after the pause.
    pub(crate) async fn denied(
        &self,
        denied: &Denied,
        connection: &Connection,
        address: IpAddr,
    ) -> Problem {
        self.failures.count(address, denied);
        tokio::select! {
            () = self.authenticator.pause(Some(address)) => {}
            () = connection.closing.cancelled() => {}
        }
        Problem::unauthenticated(&reason(denied))
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

/// Sessions count on the routes of the page only, and are never a bearer token.
impl Access {
    /// The session with this cookie, and its person. A session that is not known yet is waited for, because it may have
    /// begun at another gateway.
    pub(crate) async fn session(
        &self,
        cookie: &str,
        client: IpAddr,
    ) -> Result<(Visitor, Arc<Session>), Problem> {
        let secret = SessionSecret::from_cookie(cookie);
        if let Some((sessions, secret)) = self.sessions.as_ref().zip(secret) {
            if let Some(session) = sessions.find(secret.hash(), client).await {
                let principal = Arc::clone(&session.principal);
                return Ok((Visitor::in_role(principal, self.plan_values), session));
            }
            if !sessions.are_known() {
                return Err(Problem::not_known_yet("sessions"));
            }
        }
        let reason = "the session is not known or has ended";
        Err(Problem::unauthenticated(reason))
    }

    /// The credential of a request in this session, for an answer that goes on.
    pub(crate) fn session_credential(&self, session: &Session) -> Credential {
        match &self.sessions {
            Some(sessions) => Credential::of_session(sessions.watch(session.hash)),
            None => Credential::lasting(),
        }
    }

    /// Logins at one of the issuers whose tokens are accepted.
    pub(crate) fn issuer_login(&self, settings: LoginSettings) -> Option<IssuerLogin> {
        self.issuers.login(settings)
    }

    /// Notes a session that has begun at this gateway.
    pub(crate) fn session_begun(&self, session: proto::Session) {
        if let Some(sessions) = &self.sessions {
            sessions.begun(session);
        }
    }

    /// Notes a session that has ended at this gateway.
    pub(crate) fn session_ended(&self, hash: TokenHash) {
        if let Some(sessions) = &self.sessions {
            sessions.ended(hash);
        }
    }
}

fn reason(denied: &Denied) -> String {
    format!("wrong credential: {denied}")
}
