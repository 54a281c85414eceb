//! A REST API with kept answers, and requests of the page over it.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use chrono::DateTime;
use cts_core::callers::{PlanValues, Rights, Role};
use http::{Method, StatusCode};
use parking_lot::Mutex;
use serde_json::json;

use crate::api::{Api, ApiAnswer, ApiCall};
use crate::reply::{PageRequest, Reply, show};
use crate::site::Site;
use crate::viewer::{Leave, Viewer};

/// Text that tries to be markup, to turn lines around and to end an attribute.
pub(crate) const HOSTILE: &str = "\"'><script>alert(1)</script>&\u{202e}\u{0}";

/// Answers by path and query; 404 for any other path.
#[derive(Debug, Default)]
pub(crate) struct FakeApi {
    answers: BTreeMap<String, (StatusCode, String)>,
    /// All calls, in their order.
    pub(crate) calls: Mutex<Vec<ApiCall>>,
}

impl FakeApi {
    /// With these answers, as JSON.
    pub(crate) fn new(answers: &[(&str, impl ToString)]) -> Self {
        let with = |api: Self, (path, body): &(&str, _)| api.with(path, StatusCode::OK, body);
        answers.iter().fold(Self::default(), with)
    }

    /// With this answer to `GET path`, or with `METHOD path` to another call.
    pub(crate) fn with(mut self, path: &str, status: StatusCode, body: &impl ToString) -> Self {
        self.answers
            .insert(path.to_owned(), (status, body.to_string()));
        self
    }

    /// Refuses the call of this path with this message.
    pub(crate) fn refusing(self, path: &str, status: StatusCode, message: &str) -> Self {
        self.with(path, status, &json!({ "error": { "message": message } }))
    }

    /// The paths that were called since the last time.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.calls.lock().drain(..).map(|call| call.path).collect()
    }

    /// The answer of the page for an administrator.
    pub(crate) async fn show(&self, path: &str, query: &str) -> Reply {
        self.show_to(&admin(), path, query).await
    }

    pub(crate) async fn show_to(&self, viewer: &Viewer, path: &str, query: &str) -> Reply {
        let site = Site {
            prefix: "/ui/".to_owned(),
            name: String::new(),
            color: Site::COLORS[0],
            version: "0.2.0",
        };
        let request = PageRequest {
            path: path.to_owned(),
            query: query.to_owned(),
            now: DateTime::UNIX_EPOCH,
        };
        show(&site, viewer, self, request).await
    }

    /// The document of a screen, which must exist.
    pub(crate) async fn page(&self, path: &str, query: &str) -> String {
        match self.show(path, query).await {
            Reply::Page {
                status: StatusCode::OK,
                html,
            } => html,
            other => panic!("{other:?}"),
        }
    }

    /// The element of a fragment, which must exist.
    pub(crate) async fn fragment(&self, path: &str, query: &str, id: &str) -> String {
        let query = format!("{query}&fragment={id}&v=1.2");
        match self.show(path, &query).await {
            Reply::Fragment {
                status: StatusCode::OK,
                html,
            } => html,
            other => panic!("{other:?}"),
        }
    }

    /// The document of a screen that consists of its fragments as they are rendered alone, twice the same.
    pub(crate) async fn page_of_fragments(&self, path: &str, query: &str) -> String {
        let page = self.page(path, query).await;
        let elements = page.split("<section id=\"").skip(1);
        let ids: Vec<&str> = elements
            .map(|element| element.split('"').next().unwrap())
            .collect();
        assert!(!ids.is_empty(), "{page}");
        for (place, id) in ids.iter().enumerate() {
            assert!(!ids[..place].contains(id), "{id} is there twice");
            for _twice in 0..2 {
                let alone = self.fragment(path, query, id).await;
                assert!(page.contains(&alone), "{id}: {alone}");
            }
        }
        for part in [" style=", "<script>", "\u{202e}", "\u{0}"] {
            assert!(!page.contains(part), "{part}: {page}");
        }
        page
    }
}

#[async_trait]
impl Api for FakeApi {
    async fn call(&self, call: ApiCall) -> ApiAnswer {
        let key = match call.method {
            Method::GET => call.path.clone(),
            ref method => format!("{method} {}", call.path),
        };
        let missing = json!({ "error": { "message": format!("no {key}") } }).to_string();
        let missing = (StatusCode::NOT_FOUND, missing);
        self.calls.lock().push(call);
        let (status, body) = self.answers.get(&key).cloned().unwrap_or(missing);
        ApiAnswer {
            status,
            body: body.into(),
        }
    }
}

/// A caller who may do everything, without authentication.
pub(crate) fn admin() -> Viewer {
    Viewer {
        name: "ann".to_owned(),
        role: Role::Admin,
        rights: Rights::of(Some(Role::Admin), PlanValues::default()),
        all_tasks: true,
        leave: Leave::Nothing,
    }
}

/// The requests of the page and the calls of REST behind them, by row (docs/page.md#calls-of-rest).
pub(crate) fn calls_of_page() -> Vec<(BTreeSet<&'static str>, BTreeSet<&'static str>)> {
    let document = include_str!("../../../docs/page.md");
    let is_row = |line: &&str| line.starts_with("| `GET ") || line.starts_with("| `POST ");
    let codes = |cell: &'static str| cell.split('`').skip(1).step_by(2).collect();
    let rows = document.lines().filter(is_row).map(|row| {
        let (requests, calls) = row[1..].split_once('|').unwrap();
        (codes(requests), codes(calls))
    });
    rows.collect()
}

/// The status and the document or element of an answer.
pub(crate) fn html(reply: Reply) -> (StatusCode, String) {
    match reply {
        Reply::Page { status, html } | Reply::Fragment { status, html } => (status, html),
        Reply::SeeOther(location) => panic!("leads to {location}"),
    }
}
