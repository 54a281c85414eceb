//! Logins at an issuer (docs/page.md#login-at-an-issuer): [`start`] leads to the issuer, and [`finish`] back.
//!
//! A link begins the login, because the policy of the page lets its forms lead to the page alone.

use axum::response::Response;
use cts_access::{Denied, IssuerLogin, IssuerLoginError, PendingLogin};
use cts_core::{Chain, excerpt};
use cts_listen::{Browsers, client_key};
use http::StatusCode;
use http::header::SET_COOKIE;
use url::Url;
use url::form_urlencoded::Serializer;

use super::login::{LoginError, PLAIN, begin, form_with, value, wanted};
use super::response::see_other;
use super::service::{BrowserRequest, PageService};
use crate::authorization::visitor::Visitor;
use crate::problem::Problem;

/// Longest wanted address that the cookie of a login keeps. Browsers keep cookies of 4 KiB.
const LONGEST_TO: usize = 1024;

/// Characters of the text of an issuer that a person reads.
const SHOWN: usize = 500;

const REFUSED: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;

const CROWDED: &str = "Too many logins at the issuer go on at once. Log in once more in a moment.";

const UNKNOWN: &str = "This login did not begin in this browser, has ended already, or began more than ten minutes ago. Log in once more.";

/// Leads to the issuer, and keeps the login in a cookie.
pub(super) async fn start(
    service: &PageService,
    request: &BrowserRequest,
) -> Result<Response, Problem> {
    let to = value(request.query().as_bytes(), "to");
    let Some((login, callback)) = parts(service, request) else {
        return Ok(see_other(&wanted(service.prefix(), &to), service.prefix()));
    };
    if request.way.remove_cookie().is_none() {
        let problem = Some((StatusCode::FORBIDDEN, PLAIN));
        return Ok(form_with(service, request, &to, problem));
    }
    let (pending, address) = match begun(login, callback).await {
        Ok(begun) => begun,
        Err(why) => {
            let why = failed(login, &why);
            let problem = Some((StatusCode::SERVICE_UNAVAILABLE, why.as_str()));
            return Ok(form_with(service, request, &to, problem));
        }
    };
    let to = if to.len() > LONGEST_TO { "" } else { &to };
    let mut cookie = Serializer::new(String::new());
    let cookie = cookie.append_pair("login", pending.expose());
    let cookie = cookie.append_pair("to", to).finish();
    let mut answer = see_other(address.as_str(), service.prefix());
    set_cookie(request, &mut answer, (&pending.state(), Some(&cookie)));
    Ok(answer)
}

/// A new login, and its address at the issuer; or why there is none.
async fn begun(login: &IssuerLogin, callback: Url) -> Result<(PendingLogin, Url), String> {
    let pending = PendingLogin::random().map_err(|error| error.to_string())?;
    match login.begin(&pending, callback).await {
        Ok(address) => Ok((pending, address)),
        Err(error) => Err(error.to_string()),
    }
}

/// Ends a login for which the issuer has led back to the page, and begins the session.
pub(super) async fn finish(
    service: &PageService,
    request: &BrowserRequest,
) -> Result<Response, Problem> {
    let Some((login, callback)) = parts(service, request) else {
        return Ok(see_other(service.prefix(), service.prefix()));
    };
    let query = request.query().as_bytes();
    let state = value(query, "state");
    let cookie = request.way.login_cookie(&request.head.headers, &state);
    let cookie = cookie.unwrap_or_default().as_bytes();
    let pending = PendingLogin::from_cookie(&value(cookie, "login"));
    let Some(pending) = pending.filter(|pending| pending.has_state(&state)) else {
        let problem = Some((REFUSED, UNKNOWN));
        return Ok(form_with(service, request, "", problem));
    };
    let to = value(cookie, "to");
    let Ok(_place) = service.logins.acquire(client_key(request.address)) else {
        let problem = Some((StatusCode::SERVICE_UNAVAILABLE, CROWDED));
        return Ok(form_with(service, request, &to, problem));
    };
    let begun = session(service, request, (login, &pending, callback), &to);
    let mut answer = begun.await?;
    set_cookie(request, &mut answer, (&state, None));
    Ok(answer)
}

/// The answer that begins the session, or the form with the reason why there is none.
async fn session(
    service: &PageService,
    request: &BrowserRequest,
    (login, pending, callback): (&IssuerLogin, &PendingLogin, Url),
    to: &str,
) -> Result<Response, Problem> {
    let query = request.query().as_bytes();
    let code = value(query, "code");
    if code.is_empty() {
        let texts = ["error", "error_description"].map(|name| excerpt(&value(query, name), SHOWN));
        let why = format!("the issuer sends no code: {}", texts.join(" "));
        let why = failed(login, why.trim());
        return Ok(form_with(service, request, to, Some((REFUSED, &why))));
    }
    let now = service.clock.now();
    let error = match login.finish(pending, callback, code, now).await {
        Ok(principal) => {
            return match begin(service, request, (&principal, None), to).await {
                Ok(answer) => Ok(answer),
                Err(LoginError::Refused(why)) => {
                    Ok(form_with(service, request, to, Some((REFUSED, &why))))
                }
                Err(LoginError::Failed(problem)) => Err(problem),
            };
        }
        Err(error) => error,
    };
    let access = &service.app.access;
    let why = failed(login, &error.to_string());
    if status(&error) == StatusCode::SERVICE_UNAVAILABLE {
        tracing::warn!(target: "api", error = %Chain(&error), "a login at the issuer is not possible");
        let problem = Some((StatusCode::SERVICE_UNAVAILABLE, why.as_str()));
        return Ok(form_with(service, request, to, problem));
    }
    let (status, visitor, problem) = match error {
        IssuerLoginError::NoRole(principal, _claims) => {
            let problem = Problem::forbidden("the token of the login gives no role");
            let visitor = Visitor::of(Some(principal));
            (StatusCode::FORBIDDEN, visitor, problem)
        }
        error => {
            let denied = Denied::Issuer(Chain(&error).to_string());
            let denied = access.denied(&denied, &request.connection, request.address);
            (REFUSED, Visitor::default(), denied.await)
        }
    };
    access.note(&visitor, &request.summary(), &problem);
    Ok(form_with(service, request, to, Some((status, &why))))
}

/// The login, and the address that the issuer leads back to; `None` if there are no such logins.
fn parts<'a>(service: &'a PageService, request: &BrowserRequest) -> Option<(&'a IssuerLogin, Url)> {
    let login = service.issuer.as_ref();
    let login = login.filter(|_login| service.app.access.is_required())?;
    let (head, tls) = (&request.head, request.way.is_tls());
    let own = || Browsers::own_origin(&head.uri, &head.headers, tls);
    let origin = service.options.url.clone().or_else(own)?;
    let callback = format!("{origin}{}login/callback", service.prefix());
    Some((login, Url::parse(&callback).ok()?))
}

fn set_cookie(
    request: &BrowserRequest,
    answer: &mut Response,
    (state, text): (&str, Option<&str>),
) {
    let cookie = request.way.set_login_cookie(state, text);
    if let Some(cookie) = cookie {
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
}

fn failed(login: &IssuerLogin, why: &str) -> String {
    format!("The login at {} failed: {why}.", login.issuer())
}

const fn status(error: &IssuerLoginError) -> StatusCode {
    match error {
        IssuerLoginError::Issuer(_) | IssuerLoginError::Secret(_) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => REFUSED,
    }
}
