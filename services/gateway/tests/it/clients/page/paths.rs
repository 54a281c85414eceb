//! Paths and methods, hostile ones too.

use super::{FORM, OWN, get, scene};
use crate::stage::Stage;

#[tokio::test]
async fn the_prefix_without_its_slash_leads_to_the_page() {
    let stage = Stage::set(scene(false)).await;
    for (path, location) in [("/ui", "/ui/"), ("/ui?a=b&c", "/ui/?a=b&c")] {
        let answer = stage.ask_with("GET", path, &[], b"").await;
        assert_eq!(
            (answer.status, answer.header("Location")),
            (308, Some(location))
        );
    }
}

#[tokio::test]
async fn a_path_is_never_normalised() {
    let stage = Stage::set(scene(false)).await;
    for (path, status) in [
        ("/ui/../v1/tasks", 404),
        ("/ui/%2e%2e/v1/tasks", 404),
        ("/ui/./", 404),
        ("/ui//", 404),
        ("/ui/tasks%2F..%2F", 404),
        ("/ui/%00", 404),
        ("/ui/%ff", 404),
        ("/ui/runs/..%2F..%2Ftasks/raw", 404),
        ("/ui/runs/%22%0D%0A/raw", 404),
        ("/ui/assets/../live.js", 404),
        // The API's own 404.
        ("//ui/", 404),
        ("/ui%2F", 404),
        ("/UI/", 404),
        ("/v1/../ui/", 404),
        ("/ui/%zz", 400),
    ] {
        let answer = stage.ask_with("GET", path, &[], b"").await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(!answer.body.contains("tasks\":"), "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn other_methods_are_refused_with_those_that_a_path_has() {
    let stage = Stage::set(scene(false)).await;
    for (method, path, allowed) in [
        ("OPTIONS", "/ui/", "GET, HEAD, POST"),
        ("PUT", "/ui/tasks", "GET, HEAD, POST"),
        ("DELETE", "/ui/tasks/dns", "GET, HEAD, POST"),
        ("BREW", "/ui/", "GET, HEAD, POST"),
        ("GET", "/ui/logout", "POST"),
        ("HEAD", "/ui/follow", "GET"),
        ("POST", "/ui/follow", "GET"),
        ("POST", "/ui/assets/0/live.js", "GET, HEAD"),
    ] {
        let headers = [("Origin", OWN), FORM];
        let answer = stage.ask_with(method, path, &headers, b"").await;
        assert_eq!(answer.status, 405, "{method} {path}: {answer:?}");
        assert_eq!(answer.header("Allow"), Some(allowed), "{method} {path}");
        assert_eq!(answer.header("Access-Control-Allow-Origin"), None);
    }
}

#[tokio::test]
async fn a_head_is_that_of_the_document() {
    let stage = Stage::set(scene(false)).await;
    let document = get(&stage, "", &[]).await;
    let head = stage.ask_with("HEAD", "/ui/", &[], b"").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(head.header("Content-Type"), document.header("Content-Type"));
}

#[tokio::test]
async fn a_foreign_name_opens_nothing() {
    let stage = Stage::set(scene(false)).await;
    for path in [
        "/ui/",
        "/ui/login",
        "/ui/follow?keys=tasks",
        "/ui/assets/0/live.js",
    ] {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: evil.example\r\nAccept-Language: de\r\nConnection: close\r\n\r\n"
        );
        let answer = stage.send(&request).await;
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
        assert!(answer.body.contains("security.hosts"), "{answer:?}");
    }
}
