//! Forms: where they come from, and how large they are.

use cts_testkit::assert_contains;

use super::{ADMIN, FORM, OWN, log_in, post, scene, stage};
use crate::stage::{Answer, Scene, Stage};

/// Sends the form of an action that does not exist, which is 404 for those who may send forms.
async fn send(stage: &Stage, cookie: &str, headers: &[(&str, &str)]) -> Answer {
    let headers = [&[FORM, ("Cookie", cookie)], headers].concat();
    stage
        .ask_with("POST", "/ui/no/such/action", &headers, b"a=b")
        .await
}

#[tokio::test]
async fn a_change_comes_from_the_page_itself() {
    for require_auth in [false, true] {
        let mut page = super::options();
        page.url = Some("https://page.example".to_owned());
        let stage = stage(Scene {
            page: Some(page),
            ..scene(require_auth)
        })
        .await;
        let cookie = if require_auth {
            log_in(&stage, ADMIN).await
        } else {
            String::new()
        };
        let own = ("Origin", OWN);
        for (headers, status) in [
            (&[own][..], 404),
            (&[("Origin", "https://page.example")], 404),
            (&[own, ("Sec-Fetch-Site", "same-origin")], 404),
            (&[], 403),
            (&[("Sec-Fetch-Site", "same-origin")], 403),
            (&[("Origin", "null")], 403),
            (&[("Origin", "https://cts.example")], 403),
            (&[("Origin", "http://cts.example:8558")], 403),
            (&[("Origin", "http://evil.example")], 403),
            // Its pages may use the API, and not the page.
            (&[("Origin", "https://ops.example")], 403),
            (&[own, own], 403),
            (&[own, ("Sec-Fetch-Site", "same-site")], 403),
            (&[own, ("Sec-Fetch-Site", "cross-site")], 403),
            (&[own, ("Sec-Fetch-Site", "none")], 403),
        ] {
            let answer = send(&stage, &cookie, headers).await;
            assert_eq!(
                answer.status, status,
                "{require_auth} {headers:?}: {answer:?}"
            );
            assert_eq!(answer.header("Access-Control-Allow-Origin"), None);
        }
    }
}

#[tokio::test]
async fn logins_and_logouts_come_from_the_page_itself_too() {
    let stage = stage(scene(true)).await;
    let form = format!("token={ADMIN}");
    for origin in ["http://evil.example", "https://ops.example", "null"] {
        for path in ["/ui/login", "/ui/logout"] {
            let headers = [FORM, ("Origin", origin)];
            let answer = stage
                .ask_with("POST", path, &headers, form.as_bytes())
                .await;
            assert_eq!(answer.status, 403, "{path}: {answer:?}");
            assert_eq!(answer.header("Set-Cookie"), None);
        }
    }
}

#[tokio::test]
async fn forms_have_a_limit_and_a_type() {
    let stage = Stage::set(scene(false)).await;
    for (path, size, status) in [
        ("no/such/action", 1 << 20, 404),
        ("no/such/action", (1 << 20) + 1, 413),
        ("login", 32 << 10, 303),
        ("login", (32 << 10) + 1, 413),
    ] {
        let answer = post(&stage, path, &[], &"a".repeat(size)).await;
        assert_eq!(answer.status, status, "{path} {size}: {answer:?}");
        if status == 413 {
            assert_contains(&answer.body, ["<!doctype html>"]);
            assert_eq!(answer.header("Connection"), Some("close"));
        }
    }
    for kind in [
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/json",
    ] {
        let headers = [("Origin", OWN), ("Content-Type", kind)];
        let answer = stage
            .ask_with("POST", "/ui/no/such/action", &headers, b"a=b")
            .await;
        assert_eq!(answer.status, 400, "{kind}: {answer:?}");
    }
}

#[tokio::test]
async fn a_form_without_a_login_changes_nothing_and_says_so() {
    let stage = stage(scene(true)).await;
    let answer = post(&stage, "no/such/action", &[], "a=b").await;
    assert_eq!(answer.status, 401, "{answer:?}");
    assert_contains(&answer.body, ["Nothing was changed"]);
    assert_contains(&answer.body, ["href=\"/ui/login\""]);
}
