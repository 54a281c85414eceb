//! The page in front of the API (docs/page.md).

mod changes;
mod issuer_login;
mod login;
mod paths;
mod screens;
pub(crate) mod sessions;
mod streams;

use std::time::Duration;

use cts_gateway::{PageOptions, Site};
use tokio::time::timeout;

use self::sessions::MemorySessions;
use crate::access_service::{MemoryAccess, limited, token};
use crate::stage::{Answer, SOON, Scene, Stage};
use crate::tasks::three_tasks;

const READ: &str = "cts_read";
const ADMIN: &str = "cts_admin";
/// Two readers of the same tasks.
const LIMITED: [&str; 2] = ["cts_limited", "cts_limited_too"];

/// The origin of the page at the host of the requests.
const OWN: &str = "http://cts.example";

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

fn options() -> PageOptions {
    PageOptions {
        site: Site {
            prefix: "/ui/".to_owned(),
            name: "prod".to_owned(),
            color: "red",
            version: "0.0.0",
        },
        url: None,
        session: Duration::from_hours(8),
        login: None,
    }
}

fn scene(require_auth: bool) -> Scene {
    let tokens = [
        token(READ, "read"),
        token(ADMIN, "admin"),
        limited(token(LIMITED[0], "read"), &["dns"]),
        limited(token(LIMITED[1], "read"), &["dns"]),
    ];
    Scene {
        tasks: three_tasks(),
        access: MemoryAccess::with(tokens),
        sessions: MemorySessions::default(),
        page: Some(options()),
        require_auth,
        ..Scene::default()
    }
}

/// A stage whose gateway knows tokens and sessions.
async fn stage(scene: Scene) -> Stage {
    let stage = Stage::set(scene).await;
    let known = async {
        while post(&stage, "login", &[], "token=").await.status == 503 {}
        while with_cookie(&stage, "", "cts-1").await.status == 503 {}
    };
    timeout(SOON, known).await.unwrap();
    stage
}

async fn get(stage: &Stage, path: &str, headers: &[(&str, &str)]) -> Answer {
    stage
        .ask_with("GET", &format!("/ui/{path}"), headers, b"")
        .await
}

/// Sends a form from the page itself.
async fn post(stage: &Stage, path: &str, headers: &[(&str, &str)], form: &str) -> Answer {
    let headers = [&[FORM, ("Origin", OWN)], headers].concat();
    let path = format!("/ui/{path}");
    stage
        .ask_with("POST", &path, &headers, form.as_bytes())
        .await
}

async fn with_cookie(stage: &Stage, path: &str, cookie: &str) -> Answer {
    get(stage, path, &[("Cookie", cookie)]).await
}

/// Name and value of the cookie of a login with this token.
async fn log_in(stage: &Stage, token: &str) -> String {
    let answer = post(stage, "login", &[], &format!("token={token}")).await;
    assert_eq!(answer.status, 303, "{answer:?}");
    cookie_of(&answer).to_owned()
}

fn cookie_of(answer: &Answer) -> &str {
    let cookie = answer.header("Set-Cookie").unwrap();
    cookie.split(';').next().unwrap()
}
