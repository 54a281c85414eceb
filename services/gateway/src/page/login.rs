//! Logins with a token, logouts, and the form of all logins (docs/page.md#login).
//!
//! [`begin`] makes a session of whatever proves who a person is, and leads to the address that the person wanted.

use std::sync::Arc;

use axum::response::Response;
use cts_access::{Principal, SessionSecret, TokenHash};
use cts_core::callers::CallerKind;
use cts_page::{Login, login};
use cts_proto::time::timestamp_from_wire;
use http::header::SET_COOKIE;
use http::uri::PathAndQuery;
use http::{Method, StatusCode};
use percent_encoding::percent_decode_str;
use url::form_urlencoded;

use super::response::{Content, HTML, see_other};
use super::service::{BrowserRequest, PageService, Person};
use super::target::Target;
use crate::authorization::visitor::Visitor;
use crate::problem::Problem;
use crate::problem::declined::Change;
use crate::scheduler_client::ChangeError;
use crate::scheduler_client::on_behalf::OnBehalf;
use crate::scheduler_client::sessions::SessionClient;

/// Why nobody can log in over plain HTTP.
pub(super) const PLAIN: &str = "Nobody can log in here, because this page is open over plain HTTP from another machine, and everybody on the way could read the login. Open the page over https://. An administrator finds what to set in docs/page.md, \"Login\".";

const NOT_ACCEPTED: &str =
    "This token is not accepted: it is not known, has expired or is revoked.";

const WITHOUT_ROLE: &str = "This token is valid but gives no role.";

/// The address of the login that leads back to `path` with its query, both below the prefix.
pub(super) fn address(service: &PageService, path: &str, query: &str) -> String {
    let wanted = match query {
        "" => path.to_owned(),
        query => format!("{path}?{query}"),
    };
    let mut address = format!("{}login", service.prefix());
    if !wanted.is_empty() {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("to", &wanted);
        address.extend(["?", &query.finish()]);
    }
    address
}

/// The form, or the page itself for a person who needs no login.
pub(super) fn form(
    service: &PageService,
    request: &BrowserRequest,
    person: Option<&Person>,
) -> Response {
    let to = value(request.query().as_bytes(), "to");
    match person {
        Some(_known) => see_other(&wanted(service.prefix(), &to), service.prefix()),
        None => form_with(service, request, &to, None),
    }
}

/// Logs a person in with the token of a form.
pub(super) async fn log_in(
    service: &PageService,
    request: &BrowserRequest,
    form: &[u8],
) -> Result<Response, Problem> {
    let (app, to) = (&service.app, value(form, "to"));
    if !app.access.is_required() {
        return Ok(see_other(&wanted(service.prefix(), &to), service.prefix()));
    }
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    let refused = |why: &str| Ok(form_with(service, request, &to, Some((status, why))));
    let note = |visitor: &Visitor, problem: &Problem| {
        app.access.note(visitor, &request.summary(), problem);
    };
    if request.way.remove_cookie().is_none() {
        let problem = Problem::forbidden("a login over plain HTTP from another machine");
        note(&Visitor::default(), &problem);
        return refused(PLAIN);
    }
    let token = value(form, "token");
    let token = token.trim();
    let checking = app
        .access
        .bearer(token, &request.connection, request.address);
    let principal = match checking.await {
        Ok(principal) => principal,
        Err(problem) if problem.status() == StatusCode::UNAUTHORIZED => {
            note(&Visitor::default(), &problem);
            return refused(NOT_ACCEPTED);
        }
        Err(problem) => return Err(problem),
    };
    if principal.role.is_none() {
        let visitor = Visitor::of(Some(Arc::clone(&principal)));
        note(&visitor, &Problem::forbidden("the token gives no role"));
        return refused(WITHOUT_ROLE);
    }
    let static_token = (principal.kind == CallerKind::Token).then(|| TokenHash::of(token));
    match begin(service, request, (&principal, static_token), &to).await {
        Ok(answer) => Ok(answer),
        Err(LoginError::Refused(why)) => refused(&why),
        Err(LoginError::Failed(problem)) => Err(problem),
    }
}

/// Why a session does not begin.
#[derive(Debug)]
pub(super) enum LoginError {
    /// For this reason, which the person reads above the form.
    Refused(String),
    Failed(Problem),
}

impl From<ChangeError> for LoginError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Declined { message, .. } => Self::Refused(message),
            error => Self::Failed(Problem::unchanged(error, Change::Decide, "")),
        }
    }
}

/// Begins a session of a person, which ends with the static token, if any, and leads to `to`.
pub(super) async fn begin(
    service: &PageService,
    request: &BrowserRequest,
    (principal, token): (&Arc<Principal>, Option<TokenHash>),
    to: &str,
) -> Result<Response, LoginError> {
    let secret = SessionSecret::random();
    let secret = secret.map_err(|error| LoginError::Refused(error.to_string()))?;
    let caller = principal.caller(Some(request.address));
    let by = OnBehalf::of(caller, request.id, None);
    let lasts = service.options.session;
    let client = SessionClient::new(service.sessions.clone(), by);
    let begun = client.begin(secret.hash(), principal, token, lasts);
    let begun = begun.await?;
    // The session ends with its token, if that is earlier.
    let [from, to_end] =
        [&begun.begun_at, &begun.ends_at].map(|at| timestamp_from_wire(at.as_ref()));
    let ends_in = from
        .zip(to_end)
        .and_then(|(from, end)| (end - from).to_std().ok());
    let lasts = ends_in.map_or(lasts, |ends_in| ends_in.min(lasts));
    service.app.access.session_begun(begun);
    let mut answer = see_other(&wanted(service.prefix(), to), service.prefix());
    if let Some(cookie) = request.way.set_cookie(&secret, lasts) {
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(answer)
}

/// Ends the session of a person, if there is one.
pub(super) async fn log_out(
    service: &PageService,
    request: &BrowserRequest,
    person: Option<&Person>,
) -> Result<Response, Problem> {
    if let Some(person) = person
        && let Some(session) = &person.session
    {
        let caller = person.visitor.caller(request.address);
        let by = OnBehalf::of(caller, request.id, None);
        let client = SessionClient::new(service.sessions.clone(), by);
        client.end(session.hash).await?;
        service.app.access.session_ended(session.hash);
    }
    let mut answer = see_other(&address(service, "", ""), service.prefix());
    if let Some(cookie) = request.way.remove_cookie() {
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(answer)
}

/// The form, with the reason why the last attempt was refused.
pub(super) fn form_with(
    service: &PageService,
    request: &BrowserRequest,
    to: &str,
    problem: Option<(StatusCode, &str)>,
) -> Response {
    let is_safe = request.way.remove_cookie().is_some();
    let status = match problem {
        None => StatusCode::OK,
        Some((status, _)) if is_safe => status,
        Some(_) => StatusCode::FORBIDDEN,
    };
    let problem = problem.map(|(_, why)| why);
    let problem = problem.or((!is_safe).then_some(PLAIN));
    let issuer = service.issuer.as_ref().filter(|_issuer| is_safe);
    let start = start(service, to);
    let html = login(
        service.site(),
        &Login {
            to,
            problem,
            takes_tokens: is_safe,
            issuer: issuer.map(|issuer| (issuer.issuer(), start.as_str())),
        },
    );
    Content::new(HTML, html).answer(status, &request.head.headers)
}

/// The address that begins a login at an issuer. With `page.url` it is below that origin, where the issuer leads back.
fn start(service: &PageService, to: &str) -> String {
    let origin = service.options.url.as_deref().unwrap_or_default();
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("to", to)
        .finish();
    format!("{origin}{}login/start?{query}", service.prefix())
}

/// The address of the screen at `to`, a path below the prefix with its query; the overview if `to` is not a screen.
pub(super) fn wanted(prefix: &str, to: &str) -> String {
    let address = format!("{prefix}{to}");
    let Ok(parsed) = address.parse::<PathAndQuery>() else {
        return prefix.to_owned();
    };
    // Browsers read a backslash as a slash, and take dots out of a path before they send it.
    let is_plain = |segment: &str| {
        let decoded = percent_decode_str(segment).collect::<Vec<u8>>();
        !matches!(decoded.as_slice(), b"." | b"..") && !decoded.contains(&b'\\')
    };
    let path = parsed.path();
    let is_screen = matches!(Target::of(prefix, &Method::GET, path), Target::Screen(_));
    if is_screen && address.is_ascii() && path.split('/').all(is_plain) {
        parsed.as_str().to_owned()
    } else {
        prefix.to_owned()
    }
}

/// The first value of a name in a form; empty without one.
pub(super) fn value(form: &[u8], name: &str) -> String {
    let mut members = form_urlencoded::parse(form);
    let found = members.find(|(known, _)| known == name);
    found.map_or_else(String::new, |(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_leads_to_screens_of_the_page_only() {
        for (to, expected) in [
            ("", "/ui/"),
            ("tasks", "/ui/tasks"),
            ("runs/1?line=5&a=%2F", "/ui/runs/1?line=5&a=%2F"),
            ("tasks/a%20b", "/ui/tasks/a%20b"),
            ("?search=x", "/ui/?search=x"),
            ("tasks#x", "/ui/tasks"),
            ("/evil.example", "/ui//evil.example"),
            ("//evil.example", "/ui///evil.example"),
            ("https://evil.example", "/ui/https://evil.example"),
            ("..", "/ui/"),
            ("../v1/tasks", "/ui/"),
            ("a/..//..//evil.example", "/ui/"),
            ("%2e%2e/v1/tasks", "/ui/"),
            (".%2E/%2e/", "/ui/"),
            ("..\\evil.example", "/ui/"),
            ("%5c..%5cevil", "/ui/"),
            ("a b", "/ui/"),
            ("a\r\nSet-Cookie: b=c", "/ui/"),
            ("\u{202e}", "/ui/"),
            ("login", "/ui/"),
            ("login?to=login", "/ui/"),
            ("logout", "/ui/"),
            ("follow?keys=tasks", "/ui/"),
            ("assets/0/live.js", "/ui/"),
        ] {
            assert_eq!(wanted("/ui/", to), expected, "{to:?}");
        }
    }
}
