//! Screens, their fragments, and forms.

use axum::response::Response;
use cts_core::callers::TaskPatterns;
use cts_page::{Notice, PageRequest, Reply, Viewer, act, notice_page, show};
use http::StatusCode;
use url::form_urlencoded;

use super::api_calls::ApiCalls;
use super::response::{Content, HTML, mark_as_fragment, see_other};
use super::service::{BrowserRequest, PageService, Person};

/// Header of requests of the scripts for whole documents.
const NAVIGATE: &str = "cts-navigate";

/// A screen, or a fragment of it.
pub(super) async fn screen(
    service: &PageService,
    request: &BrowserRequest,
    person: &Person,
    path: &str,
) -> Response {
    let calls = ApiCalls::new(service, request, person);
    let shown = async |viewer: Viewer| {
        let wanted = page_request(service, path, request.query());
        show(service.site(), &viewer, &calls, wanted).await
    };
    let has_version = has(request, "v");
    if !is_fragment(request) {
        return respond(service, request, shown(person.viewer()).await);
    }
    // Fragments are the same for all people with the same rights.
    let rendering = async {
        match shown(person.viewer_without_name()).await {
            Reply::Fragment {
                status: StatusCode::OK,
                html,
            } if has_version && !calls.have_failed() => Ok(Content::new(HTML, html)),
            other => Err(other),
        }
    };
    let rendered = if has_version {
        let key = format!("{} {path}?{}", rights(person), request.query());
        service.fragments.get(key, rendering).await
    } else {
        rendering.await
    };
    match rendered {
        Ok(content) => fragment(&content, request),
        Err(reply) => respond(service, request, reply),
    }
}

/// The answer to the form of an action.
pub(super) async fn action(
    service: &PageService,
    request: &BrowserRequest,
    person: &Person,
    (path, form): (&str, &[u8]),
) -> Response {
    let calls = ApiCalls::new(service, request, person);
    let wanted = page_request(service, path, request.query());
    let reply = act(service.site(), &person.viewer(), &calls, wanted, form).await;
    respond(service, request, reply)
}

/// A document with nothing but a message and `content`, which is HTML of this crate.
pub(super) fn message(
    service: &PageService,
    request: &BrowserRequest,
    (status, reason): (StatusCode, &str),
    content: String,
) -> Response {
    let notice = Notice::failure(reason);
    let title = status.canonical_reason().unwrap_or("Not possible");
    let html = notice_page(service.site(), title, Some(&notice), content);
    Content::new(HTML, html).answer(status, &request.head.headers)
}

fn respond(service: &PageService, request: &BrowserRequest, reply: Reply) -> Response {
    let headers = &request.head.headers;
    match reply {
        Reply::Page { status, html } => {
            let mut answer = Content::new(HTML, html).answer(status, headers);
            if headers.contains_key(NAVIGATE) {
                mark_as_fragment(&mut answer);
            }
            answer
        }
        Reply::Fragment {
            status: StatusCode::OK,
            html,
        } => fragment(&Content::new(HTML, html), request),
        Reply::Fragment { status, html } => Content::new(HTML, html).answer(status, headers),
        Reply::SeeOther(address) => see_other(&address, service.prefix()),
    }
}

fn fragment(content: &Content, request: &BrowserRequest) -> Response {
    let mut answer = content.tagged_answer(&request.head.headers);
    mark_as_fragment(&mut answer);
    answer
}

fn page_request(service: &PageService, path: &str, query: &str) -> PageRequest {
    PageRequest {
        path: path.to_owned(),
        query: query.to_owned(),
        now: service.clock.now(),
    }
}

/// Whether a request is for a fragment and not for a document.
pub(super) fn is_fragment(request: &BrowserRequest) -> bool {
    has(request, "fragment")
}

/// Whether the query has this parameter, with a value. Its first value counts, as for the screens.
fn has(request: &BrowserRequest, name: &str) -> bool {
    let mut members = form_urlencoded::parse(request.query().as_bytes());
    let found = members.find(|(known, _value)| known == name);
    found.is_some_and(|(_name, value)| !value.is_empty())
}

/// Text that is the same for people who get the same answers.
fn rights(person: &Person) -> String {
    let visitor = &person.visitor;
    let tasks = visitor.tasks().map(TaskPatterns::texts);
    format!(
        "{:?} {:?} {tasks:?}",
        person.viewer_without_name().role,
        visitor.rights()
    )
}
