//! From a request of the page to its answer.

use chrono::{DateTime, Utc};
use http::StatusCode;

use crate::actions;
use crate::address::Query;
use crate::api::Api;
use crate::context::{Attempt, Context, Refusal};
use crate::layout::{self, Notice};
use crate::screens::resolve;
use crate::site::Site;
use crate::viewer::Viewer;

/// Members of a query that are not the state of a screen, and so are in no link of it: the fragment that is wanted, the
/// version of its key, and the action that led to the address.
const NOT_OF_SCREENS: [&str; 3] = ["fragment", "v", "done"];

/// A request for the page by a caller that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// Path below the prefix, as sent, without a slash at its beginning.
    pub path: String,
    /// Query, as sent; empty without one.
    pub query: String,
    /// The time of the gateway.
    pub now: DateTime<Utc>,
}

/// An answer of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A whole document.
    Page { status: StatusCode, html: String },
    /// One element.
    Fragment { status: StatusCode, html: String },
    /// The address of the screen with the result of a change.
    SeeOther(String),
}

/// Answers a request that reads: a screen, or with `fragment=ID` a fragment of it.
pub async fn show(site: &Site, viewer: &Viewer, api: &dyn Api, request: PageRequest) -> Reply {
    let context = Context::new(site, viewer, api, request.now);
    let query = Query::parse(&request.query);
    let fragment = query.get("fragment").to_owned();
    let notice = actions::done(&query);
    let query = query.without(&NOT_OF_SCREENS);
    if fragment.is_empty() {
        return screen(&request.path, query, notice, &context).await;
    }
    let found = resolve(&request.path, query);
    let element = match &found {
        Ok(screen) => match screen.fragment(&fragment) {
            Some(fragment) => Ok(fragment.element(screen.as_ref(), &context).await),
            None => Err(Refusal::not_found("There is no such fragment.")),
        },
        Err(refusal) => Err(refusal.clone()),
    };
    match element {
        Ok(html) => Reply::Fragment {
            status: StatusCode::OK,
            html,
        },
        Err(refusal) => Reply::Fragment {
            status: refusal.status,
            html: crate::text::escaped(&refusal.message),
        },
    }
}

/// Answers a form: the address of the screen with the result, or the screen with the form and the reason why nothing
/// changed.
pub async fn act(
    site: &Site,
    viewer: &Viewer,
    api: &dyn Api,
    request: PageRequest,
    form: &[u8],
) -> Reply {
    let context = Context::new(site, viewer, api, request.now);
    let values = Query::parse(&String::from_utf8_lossy(form));
    let refusal = match actions::carry_out(&request.path, &values, &context).await {
        Ok(location) => return Reply::SeeOther(location),
        Err(refusal) => refusal,
    };
    if refusal.status == StatusCode::NOT_FOUND {
        return failed(&refusal, &context);
    }
    let back = actions::screen_of(&request.path);
    let context = context.after(Attempt {
        path: request.path,
        values,
        refusal: refusal.clone(),
    });
    let notice = Notice::failure(&refusal.message);
    match screen(&back, Query::default(), Some(notice), &context).await {
        Reply::Page { html, .. } => Reply::Page {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            html,
        },
        other => other,
    }
}

async fn screen(path: &str, query: Query, notice: Option<Notice>, context: &Context<'_>) -> Reply {
    let page = async {
        let screen = resolve(path, query)?;
        let html = layout::page(screen.as_ref(), notice.as_ref(), context).await?;
        Ok::<_, Refusal>(html)
    };
    match page.await {
        Ok(html) => Reply::Page {
            status: StatusCode::OK,
            html,
        },
        Err(refusal) => failed(&refusal, context),
    }
}

fn failed(refusal: &Refusal, context: &Context<'_>) -> Reply {
    Reply::Page {
        status: refusal.status,
        html: layout::failure(refusal, context),
    }
}
