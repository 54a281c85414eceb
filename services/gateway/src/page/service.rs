//! The parts that the page is made of, and the people in front of it.

use std::net::IpAddr;
use std::sync::Arc;

use cts_access::{IssuerLogin, Session};
use cts_core::Clock;
use cts_core::callers::Role;
use cts_listen::{Browsers, ClientLimit, ClientLimiter};
use cts_page::{Leave, Site, Viewer};
use cts_proto::access::v1::session_service_client::SessionServiceClient;
use http::StatusCode;
use http::request::Parts;
use tonic::transport::Channel;

use super::shared_fragments::SharedFragments;
use super::way::Way;
use crate::app::App;
use crate::authorization::RequestSummary;
use crate::authorization::visitor::Visitor;
use crate::options::PageOptions;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::transport::browsers::Listened;
use crate::transport::connection::Connection;

/// Logins that wait for the issuer at the same time: a browser can send any code.
const LOGINS: ClientLimit = ClientLimit {
    total: 32,
    per_client: 4,
};

/// The page. One value serves all connections of a gateway.
pub(crate) struct PageService {
    pub(super) app: Arc<App>,
    pub(super) options: PageOptions,
    pub(super) sessions: SessionServiceClient<Channel>,
    pub(super) clock: Arc<dyn Clock>,
    /// `None` without logins at an issuer.
    pub(super) issuer: Option<IssuerLogin>,
    /// Logins that wait for the issuer.
    pub(super) logins: ClientLimiter,
    pub(super) fragments: SharedFragments,
}

/// A request for the page, without its body.
pub(super) struct BrowserRequest {
    pub(super) head: Parts,
    pub(super) id: RequestId,
    pub(super) connection: Connection,
    pub(super) listened: Listened,
    pub(super) address: IpAddr,
    pub(super) way: Way,
}

/// The person who makes a request.
pub(super) struct Person {
    pub(super) visitor: Visitor,
    /// `None` if each request shows who makes it.
    pub(super) session: Option<Arc<Session>>,
    pub(super) leave: Leave,
}

impl PageService {
    pub(crate) fn new(
        app: Arc<App>,
        options: PageOptions,
        sessions: SessionServiceClient<Channel>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let login = options.login.clone();
        Self {
            issuer: login.and_then(|login| app.access.issuer_login(login)),
            app,
            options,
            sessions,
            clock,
            logins: ClientLimiter::new(LOGINS),
            fragments: SharedFragments::new(),
        }
    }

    pub(super) fn site(&self) -> &Site {
        &self.options.site
    }

    /// Path of the page, with a slash at both ends.
    pub(crate) fn prefix(&self) -> &str {
        &self.options.site.prefix
    }

    pub(super) fn request(
        &self,
        head: Parts,
        id: RequestId,
        connection: Connection,
        listened: Listened,
    ) -> BrowserRequest {
        let clients = &self.app.clients;
        let url = self.options.url.as_deref();
        BrowserRequest {
            address: clients.address(connection.peer.ip(), &head.headers),
            way: Way::of((listened, &connection), clients, &head.headers, url),
            head,
            id,
            connection,
            listened,
        }
    }

    /// Refuses a change that comes from elsewhere than the page.
    pub(super) fn check_origin(&self, request: &BrowserRequest) -> Result<(), Problem> {
        let (head, tls) = (&request.head, request.way.is_tls());
        let url = self.options.url.as_deref();
        let checked = Browsers::check_own(&head.uri, &head.headers, tls, url);
        checked.map_err(|foreign| Problem::foreign(&foreign))
    }

    /// The person who makes a request; `None` before the login.
    pub(super) async fn person(&self, request: &BrowserRequest) -> Result<Option<Person>, Problem> {
        let access = &self.app.access;
        if !access.is_required() {
            return Ok(Some(Person {
                visitor: Visitor::of(request.connection.certificate.clone()),
                session: None,
                leave: Leave::Nothing,
            }));
        }
        let by_certificate = access.by_certificate(&request.connection);
        if let Some(cookie) = request.way.cookie(&request.head.headers) {
            match access.session(cookie, request.address).await {
                Ok((visitor, session)) => {
                    return Ok(Some(Person {
                        visitor,
                        session: Some(session),
                        leave: Leave::Logout,
                    }));
                }
                Err(problem)
                    if by_certificate.is_none() && problem.status() != StatusCode::UNAUTHORIZED =>
                {
                    return Err(problem);
                }
                Err(_no_session) => {}
            }
        }
        Ok(by_certificate.map(|visitor| Person {
            visitor,
            session: None,
            leave: Leave::Certificate,
        }))
    }
}

impl BrowserRequest {
    pub(super) fn query(&self) -> &str {
        self.head.uri.query().unwrap_or_default()
    }

    /// The request, for the audit records.
    pub(super) fn summary(&self) -> RequestSummary {
        RequestSummary {
            method: self.head.method.clone(),
            uri: self.head.uri.clone(),
            address: self.address,
            id: self.id,
        }
    }
}

impl Person {
    /// The person as the page shows it.
    pub(super) fn viewer(&self) -> Viewer {
        let viewer = self.viewer_without_name();
        let name = match self.leave {
            Leave::Nothing => "",
            Leave::Logout | Leave::Certificate => self.visitor.name(),
        };
        Viewer {
            name: name.to_owned(),
            leave: self.leave,
            ..viewer
        }
    }

    /// A person of whom only the rights are known, for HTML that all people with these rights get.
    pub(super) fn viewer_without_name(&self) -> Viewer {
        let role = match self.leave {
            Leave::Nothing => Role::Admin,
            // Without a role every call is refused.
            Leave::Logout | Leave::Certificate => self.visitor.role().unwrap_or(Role::Read),
        };
        Viewer {
            name: String::new(),
            role,
            rights: self.visitor.rights(),
            all_tasks: self.visitor.tasks().is_none(),
            leave: Leave::Nothing,
        }
    }
}
