//! A fake API, and requests of the page to it.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::DateTime;
use cts_core::callers::{PlanValues, Rights, Role};
use http::StatusCode;
use parking_lot::Mutex;
use serde_json::Value;

use crate::api::{Api, ApiAnswer, ApiCall};
use crate::context::Context;
use crate::reply::{PageRequest, Reply, act, show};
use crate::site::Site;
use crate::viewer::{Leave, Viewer};

pub(super) const RUN: &str = "0197a000-0000-7000-8000-000000000001";

/// Answers calls by method and path with the given answers in turn, the last of them again and again.
pub(super) struct Fake {
    answers: Mutex<BTreeMap<String, Vec<(u16, Value)>>>,
    changes: Mutex<Vec<String>>,
}

impl Fake {
    pub(super) fn new(answers: &[(&str, u16, Value)]) -> Self {
        let mut kept: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for (call, status, answer) in answers {
            let of_call = kept.entry((*call).to_owned()).or_default();
            of_call.push((*status, answer.clone()));
        }
        Self {
            answers: Mutex::new(kept),
            changes: Mutex::default(),
        }
    }

    /// The calls that change something, with their bodies.
    pub(super) fn changes(&self) -> Vec<String> {
        self.changes.lock().clone()
    }
}

#[async_trait]
impl Api for Fake {
    async fn call(&self, call: ApiCall) -> ApiAnswer {
        let name = format!("{} {}", call.method, call.path);
        if call.method != http::Method::GET {
            let body = call.body.unwrap_or_default();
            self.changes.lock().push(format!("{name} {body}"));
        }
        let mut answers = self.answers.lock();
        let (status, body) = match answers.get_mut(&name) {
            Some(left) if left.len() > 1 => left.remove(0),
            Some(left) => left[0].clone(),
            None => (
                404,
                serde_json::json!({"error": {"message": format!("no {name}")}}),
            ),
        };
        ApiAnswer {
            status: StatusCode::from_u16(status).unwrap(),
            body: Bytes::from(body.to_string()),
        }
    }
}

pub(super) fn site() -> Site {
    Site {
        prefix: "/ui/".to_owned(),
        name: String::new(),
        color: Site::COLORS[0],
        version: "0",
    }
}

pub(super) fn viewer(role: Role) -> Viewer {
    Viewer {
        name: "ann".to_owned(),
        role,
        rights: Rights::of(Some(role), PlanValues::Read),
        all_tasks: true,
        leave: Leave::Nothing,
    }
}

fn request(path: &str) -> PageRequest {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    PageRequest {
        path: path.to_owned(),
        query: query.to_owned(),
        now: DateTime::UNIX_EPOCH,
    }
}

/// The document or fragment at `path`, for this role.
pub(super) async fn shown(api: &Fake, role: Role, path: &str) -> String {
    match show(&site(), &viewer(role), api, request(path)).await {
        Reply::Page { html, .. } | Reply::Fragment { html, .. } => html,
        Reply::SeeOther(address) => panic!("{path} leads to {address}"),
    }
}

/// The answer to the form at `path` by an admin.
pub(super) async fn sent(api: &Fake, path: &str, form: &[u8]) -> Reply {
    act(&site(), &viewer(Role::Admin), api, request(path), form).await
}

/// The address that a form leads to.
pub(super) async fn address_after(api: &Fake, path: &str, form: &str) -> String {
    match sent(api, path, form.as_bytes()).await {
        Reply::SeeOther(address) => address,
        other => panic!("{other:?}"),
    }
}

/// The page that refuses a form.
pub(super) async fn refused(api: &Fake, path: &str, form: &str) -> String {
    match sent(api, path, form.as_bytes()).await {
        Reply::Page { status, html } if status == StatusCode::UNPROCESSABLE_ENTITY => html,
        other => panic!("{other:?}"),
    }
}

/// A request of this viewer.
pub(super) fn context<'a>(site: &'a Site, viewer: &'a Viewer, api: &'a Fake) -> Context<'a> {
    Context::new(site, viewer, api, DateTime::UNIX_EPOCH)
}
