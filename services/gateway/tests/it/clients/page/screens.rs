//! Screens, fragments and files.

use std::sync::Arc;

use cts_testkit::assert_contains;
use tokio::join;

use super::{LIMITED, OWN, get, log_in, options, scene, stage, with_cookie};
use crate::stage::{Answer, Scene, Stage};
use tonic::Status;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types cts";

#[track_caller]
fn assert_headers(answer: &Answer, caching: &str) {
    for (name, value) in [
        ("Content-Security-Policy", POLICY),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Referrer-Policy", "same-origin"),
        ("X-Content-Type-Options", "nosniff"),
        ("Cache-Control", caching),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}: {answer:?}");
    }
    assert_eq!(answer.header("Access-Control-Allow-Origin"), None);
}

#[tokio::test]
async fn every_answer_of_the_page_has_its_headers() {
    let stage = Stage::set(scene(false)).await;
    for (path, status) in [
        ("", 200),
        ("?fragment=problems", 200),
        ("?fragment=nothing", 404),
        ("no/such/page", 404),
        ("follow?keys=nothing", 400),
        ("runs/x/log", 404),
        ("logout", 405),
        ("login", 303),
        ("assets/0/live.js", 404),
    ] {
        let answer = get(&stage, path, &[("Origin", OWN)]).await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert_headers(&answer, "no-store");
    }
    let (_, from) = POLICY.split_once("script-src").unwrap();
    assert!(!from.contains("unsafe"));
}

#[tokio::test]
async fn assets_are_kept_for_ever_under_their_digest() {
    let stage = Stage::set(scene(false)).await;
    let page = get(&stage, "", &[]).await.body;
    for attribute in ["href", "src"] {
        let (_, rest) = page
            .split_once(&format!("{attribute}=\"/ui/assets/"))
            .unwrap();
        let path = format!("assets/{}", rest.split('"').next().unwrap());
        let answer = get(&stage, &path, &[]).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_headers(&answer, "public, max-age=31536000, immutable");
    }
}

#[tokio::test]
async fn a_fragment_has_a_tag_and_its_mark() {
    let stage = Stage::set(scene(false)).await;
    for path in ["?fragment=problems", "?fragment=problems&v=x.1"] {
        let answer = get(&stage, path, &[]).await;
        assert_eq!(answer.header("Cts-Fragment"), Some("1"), "{answer:?}");
        assert!(
            answer.body.starts_with("<section id=\"problems\""),
            "{answer:?}"
        );
        let tag = answer.header("ETag").unwrap();
        let again = get(&stage, path, &[("If-None-Match", tag)]).await;
        assert_eq!((again.status, again.body.as_str()), (304, ""));
        assert_eq!(again.header("ETag"), Some(tag));
        assert_headers(&again, "no-store");
    }
    let missing = get(&stage, "?fragment=nothing", &[]).await;
    assert_eq!(missing.header("Cts-Fragment"), None);
}

#[tokio::test]
async fn only_a_document_that_a_script_wants_is_marked() {
    let stage = Stage::set(scene(false)).await;
    for (headers, mark) in [(&[][..], None), (&[("Cts-Navigate", "1")], Some("1"))] {
        let answer = get(&stage, "", headers).await;
        assert_eq!(answer.header("Cts-Fragment"), mark);
        assert_eq!(
            answer.header("Content-Type"),
            Some("text/html; charset=utf-8")
        );
        assert_contains(&answer.body, ["data-color=\"red\""]);
    }
}

#[tokio::test]
async fn people_of_equal_rights_share_a_fragment_of_a_version() {
    let scene = scene(true);
    let visible = Arc::clone(&scene.cluster.visible);
    let stage = stage(scene).await;
    let [one, other] = LIMITED;
    let (one, other) = (log_in(&stage, one).await, log_in(&stage, other).await);
    let fragment = |cookie, version: u32| {
        let path = format!("?fragment=problems&v=x.{version}");
        let stage = &stage;
        async move { with_cookie(stage, &path, cookie).await.body }
    };
    visible.lock().unwrap().clear();
    let (first, second) = join!(fragment(&one, 1), fragment(&other, 1));
    let third = fragment(&one, 1).await;
    assert!(first == second && second == third && first.contains("problems"));
    assert_eq!(visible.lock().unwrap().len(), 1);
    fragment(&other, 2).await;
    assert_eq!(visible.lock().unwrap().len(), 2);
    let all = log_in(&stage, super::READ).await;
    fragment(&all, 2).await;
    assert_eq!(visible.lock().unwrap().len(), 2, "of all tasks");
}

#[tokio::test]
async fn a_failed_call_is_shown_in_its_place_and_not_kept() {
    let scene = scene(true);
    let cluster = scene.cluster.clone();
    let stage = stage(scene).await;
    let cookie = log_in(&stage, LIMITED[0]).await;
    cluster.fail_once(Status::internal("a detail"));
    let fragment = async || with_cookie(&stage, "?fragment=problems&v=x.1", &cookie).await;
    let failed = fragment().await;
    assert_eq!(failed.status, 200, "{failed:?}");
    assert_contains(&failed.body, ["class=\"problem\"", "internal error"]);
    assert!(!failed.body.contains("a detail"), "{failed:?}");
    let again = fragment().await;
    assert!(!again.body.contains("internal error"), "{again:?}");
}

#[tokio::test]
async fn browsers_are_led_to_the_page_from_the_root_and_others_get_the_original_answer() {
    let stage = Stage::set(scene(false)).await;
    let html = "text/html,application/xhtml+xml,*/*;q=0.8";
    let answer = stage.ask_with("GET", "/", &[("Accept", html)], b"").await;
    assert_eq!(
        (answer.status, answer.header("Location")),
        (303, Some("/ui/"))
    );
    assert_headers(&answer, "no-store");
    for headers in [
        &[][..],
        &[("Accept", "*/*")],
        &[("Accept", "application/json")],
    ] {
        let answer = stage.ask_with("GET", "/", headers, b"").await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (404, "404 page not found\n")
        );
        assert!(answer.is_open_to_all_origins());
    }
    let posted = stage.ask_with("POST", "/", &[("Accept", html)], b"").await;
    assert_eq!(posted.status, 404);
}

#[tokio::test]
async fn a_gateway_without_the_page_is_as_before() {
    let stage = Stage::set(Scene {
        page: None,
        ..scene(false)
    })
    .await;
    for path in ["/", "/ui", "/ui/"] {
        let answer = stage
            .ask_with("GET", path, &[("Accept", "text/html")], b"")
            .await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.is_open_to_all_origins());
    }
}

#[tokio::test]
async fn a_page_with_a_listener_of_its_own_is_only_there() {
    let mut stage = Stage::set(Scene {
        page_apart: true,
        ..scene(false)
    })
    .await;
    let accept = [("Accept", "text/html")];
    for (path, status) in [("/ui/", 404), ("/", 404), ("/v1/tasks", 200)] {
        let answer = stage.ask_with("GET", path, &accept, b"").await;
        assert_eq!(answer.status, status, "{path}");
    }
    stage.address = stage.page_address.unwrap();
    for (path, status) in [
        ("/ui/", 200),
        ("/ui", 308),
        ("/", 303),
        ("/v1/tasks", 404),
        ("/v1/health", 404),
        ("/other", 404),
    ] {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: cts.example\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
        );
        let answer = stage.send(&request).await;
        assert_eq!(answer.status, status, "{path}");
        assert_headers(&answer, "no-store");
    }
}

#[tokio::test]
async fn the_page_has_the_name_of_the_cluster() {
    let mut page = options();
    page.site.name = "<b>\u{202e}".to_owned();
    let stage = Stage::set(Scene {
        page: Some(page),
        ..scene(false)
    })
    .await;
    let answer = get(&stage, "", &[]).await;
    assert_contains(&answer.body, ["&lt;b&gt;"]);
    assert!(!answer.body.contains("<title>Overview · <b>"));
}
