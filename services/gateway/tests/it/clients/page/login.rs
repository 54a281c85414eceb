//! Logins, logouts, and what sessions are good for.

use std::fs;
use std::sync::Arc;

use cts_access::TokenHash;
use cts_testkit::{Authority, assert_contains};
use cts_tls::Authorities;
use serde_json::Value;
use tonic::Status;

use super::{ADMIN, OWN, READ, cookie_of, get, log_in, options, post, scene, stage, with_cookie};
use crate::clients::tls::{Guarded, named, path, trusting};
use crate::conformity::DOCUMENT;
use crate::log;
use crate::runs::RUN;
use crate::stage::{Scene, Stage};

#[tokio::test]
async fn a_login_leads_back_to_the_wanted_screen() {
    let scene = scene(true);
    let sessions = scene.sessions.clone();
    let stage = stage(scene).await;
    let wanted = get(&stage, "runs/1?line=7&search=a%26b", &[]).await;
    let login = "/ui/login?to=runs%2F1%3Fline%3D7%26search%3Da%2526b";
    assert_eq!(
        (wanted.status, wanted.header("Location")),
        (303, Some(login))
    );
    let form = get(&stage, &login["/ui/".len()..], &[]).await;
    assert_eq!(form.status, 200);
    assert_contains(&form.body, ["value=\"runs/1?line=7&#38;search=a%26b\""]);
    let values = format!("token=+{READ}%0A&to=runs%2F1%3Fline%3D7%26search%3Da%2526b");
    let answer = post(&stage, "login", &[], &values).await;
    let location = answer.header("Location");
    assert_eq!(
        (answer.status, location),
        (303, Some("/ui/runs/1?line=7&search=a%26b"))
    );
    let cookie = answer.header("Set-Cookie").unwrap();
    let port = stage.address.port();
    assert!(cookie.starts_with(&format!("cts-{port}=")), "{cookie}");
    assert!(
        cookie.ends_with("; Path=/; Max-Age=28800; HttpOnly; SameSite=Lax"),
        "{cookie}"
    );
    assert!(!cookie.contains(READ));
    let begun = sessions.begun.lock().unwrap().clone().unwrap();
    assert_eq!(begun.token_sha256, TokenHash::of(READ).0);
    assert_eq!(
        (begun.role.as_str(), begun.lasts.unwrap().seconds),
        ("read", 28800)
    );
    let page = with_cookie(&stage, "", cookie_of(&answer)).await;
    assert_eq!(page.status, 200);
    assert_contains(&page.body, ["name of read"]);
    assert_contains(&page.body, ["action=\"/ui/logout\""]);
    let again = with_cookie(&stage, "login?to=tasks", cookie_of(&answer)).await;
    assert_eq!(
        (again.status, again.header("Location")),
        (303, Some("/ui/tasks"))
    );
}

#[tokio::test]
async fn a_logout_ends_the_session() {
    let stage = stage(scene(true)).await;
    let cookie = log_in(&stage, READ).await;
    let answer = post(&stage, "logout", &[("Cookie", &cookie)], "").await;
    assert_eq!(
        (answer.status, answer.header("Location")),
        (303, Some("/ui/login"))
    );
    assert_contains(
        answer.header("Set-Cookie").unwrap(),
        ["=; Path=/; Max-Age=0;"],
    );
    let page = with_cookie(&stage, "", &cookie).await;
    assert_eq!(
        (page.status, page.header("Location")),
        (303, Some("/ui/login"))
    );
    let without = post(&stage, "logout", &[], "").await;
    assert_eq!(without.status, 303);
}

#[tokio::test]
async fn a_wrong_token_is_refused_by_one_text_and_recorded() {
    let scene = scene(true);
    let refusals = Arc::clone(&scene.access.refusals);
    let mut stage = stage(scene).await;
    for token in ["cts_wrong", "", "eyJhbGciOiJub25lIn0.e30.", "%00", "%F0%9F"] {
        let answer = post(&stage, "login", &[], &format!("token={token}&to=tasks")).await;
        assert_eq!(answer.status, 422, "{answer:?}");
        assert_contains(&answer.body, ["This token is not accepted"]);
        assert_contains(&answer.body, ["value=\"tasks\""]);
        assert!(
            token.is_empty() || !answer.body.contains(token),
            "{answer:?}"
        );
        assert_eq!(answer.header("Set-Cookie"), None);
    }
    stage.shutdown.cancel();
    stage.gateway.join_next().await;
    let refused = refusals.lock().unwrap();
    let logins = refused.iter().filter(|it| it.request == "POST /ui/login");
    assert!(logins.map(|it| it.count).sum::<u32>() >= 5, "{refused:?}");
}

#[tokio::test]
async fn a_login_that_a_scheduler_declines_says_why() {
    let scene = scene(true);
    let declined = Arc::clone(&scene.sessions.declined);
    let stage = stage(scene).await;
    let mut status = Status::resource_exhausted("there are 10000 sessions");
    status
        .metadata_mut()
        .insert("cts-reason", "busy".parse().unwrap());
    *declined.lock().unwrap() = Some(status);
    let answer = post(&stage, "login", &[], &format!("token={READ}")).await;
    assert_eq!(answer.status, 422, "{answer:?}");
    assert_contains(&answer.body, ["there are 10000 sessions"]);
    assert_eq!(answer.header("Set-Cookie"), None);
    *declined.lock().unwrap() = Some(Status::unavailable("gone"));
    let answer = post(&stage, "login", &[], &format!("token={READ}")).await;
    assert!(matches!(answer.status, 500 | 503), "{answer:?}");
    assert_contains(&answer.body, ["<!doctype html>"]);
}

#[tokio::test]
async fn schedulers_of_an_earlier_version_have_no_sessions() {
    let mut scene = scene(true);
    scene.sessions.unserved = true;
    let stage = Stage::set(scene).await;
    let answer = loop {
        let answer = post(&stage, "login", &[], &format!("token={READ}")).await;
        if answer.status != 503 {
            break answer;
        }
    };
    assert_eq!(answer.status, 501, "{answer:?}");
    assert_contains(&answer.body, ["login sessions"]);
    // A cookie of before.
    let secret = "A".repeat(43);
    let cookie = format!("cts-{}={secret}", stage.address.port());
    let screen = with_cookie(&stage, "", &cookie).await;
    assert_eq!(
        (screen.status, screen.header("Refresh")),
        (503, Some("5")),
        "{screen:?}"
    );
    let fragment = with_cookie(&stage, "?fragment=problems", &cookie).await;
    assert_eq!((fragment.status, fragment.header("Refresh")), (503, None));
    assert_eq!(with_cookie(&stage, "login", &cookie).await.status, 200);
}

#[tokio::test]
async fn a_session_is_no_credential_of_the_api() {
    let stage = stage(scene(true)).await;
    let cookie = log_in(&stage, ADMIN).await;
    assert_eq!(with_cookie(&stage, "", &cookie).await.status, 200);
    let secret = cookie.split_once('=').unwrap().1;
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let mut count = 0;
    for (path, operations) in paths {
        let path = path.replace("{name}", "dns").replace("{id}", RUN);
        for (method, operation) in operations.as_object().unwrap() {
            let id = operation.get("operationId").and_then(Value::as_str);
            if id.is_none_or(|id| id == "getHealth") {
                continue;
            }
            let headers = [
                ("Cookie", cookie.as_str()),
                ("Content-Type", "application/json"),
            ];
            let method = method.to_uppercase();
            let answer = stage.ask_with(&method, &path, &headers, b"").await;
            assert_eq!(answer.status, 401, "{method} {path}: {answer:?}");
            count += 1;
        }
    }
    assert!(count > 24, "{count}");
    let bearer = format!("Bearer {secret}");
    let answer = stage
        .ask_with("GET", "/v1/tasks", &[("Authorization", &bearer)], b"")
        .await;
    assert_eq!(answer.status, 401, "{answer:?}");
}

#[tokio::test]
async fn a_token_is_no_credential_of_the_page() {
    let stage = stage(scene(true)).await;
    let bearer = format!("Bearer {ADMIN}");
    let port = stage.address.port();
    let cookie = format!("cts-{port}={ADMIN}");
    for headers in [("Authorization", bearer.as_str()), ("Cookie", &cookie)] {
        let answer = get(&stage, "", &[headers]).await;
        assert_eq!(answer.status, 303, "{headers:?}");
    }
}

#[tokio::test]
async fn nobody_logs_in_over_plain_http_from_another_machine() {
    let stage = stage(scene(true)).await;
    let cookie = log_in(&stage, READ).await;
    for forwarded in [
        ("X-Forwarded-For", "192.0.2.1"),
        ("Forwarded", "for=192.0.2.1"),
    ] {
        let form = get(&stage, "login", &[forwarded]).await;
        assert_eq!(form.status, 200);
        assert_contains(&form.body, ["plain HTTP"]);
        assert!(!form.body.contains("name=\"token\""), "{form:?}");
        let answer = post(&stage, "login", &[forwarded], &format!("token={READ}")).await;
        assert_eq!(answer.status, 403, "{answer:?}");
        assert_eq!(answer.header("Set-Cookie"), None);
        let page = get(&stage, "", &[forwarded, ("Cookie", &cookie)]).await;
        assert_eq!(page.status, 303, "a cookie does not count there");
    }
}

#[tokio::test]
async fn behind_a_trusted_proxy_with_tls_a_login_is_secure() {
    let mut page = options();
    page.url = Some("https://cts.example".to_owned());
    let stage = stage(Scene {
        page: Some(page),
        ..scene(true)
    })
    .await;
    let forwarded = ("X-Forwarded-For", "192.0.2.1");
    let headers = [super::FORM, forwarded, ("Origin", "https://cts.example")];
    let form = format!("token={READ}");
    let answer = stage
        .ask_with("POST", "/ui/login", &headers, form.as_bytes())
        .await;
    assert_eq!(answer.status, 303, "{answer:?}");
    let cookie = answer.header("Set-Cookie").unwrap();
    assert!(cookie.starts_with("__Host-cts-443="), "{cookie}");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    let page = get(&stage, "", &[forwarded, ("Cookie", cookie_of(&answer))]).await;
    assert_eq!(page.status, 200);
    // Without the proxy this is plain HTTP on the loopback.
    assert_eq!(
        with_cookie(&stage, "", cookie_of(&answer)).await.status,
        303
    );
    let own = stage.ask_with(
        "POST",
        "/ui/login",
        &[super::FORM, ("Origin", OWN)],
        form.as_bytes(),
    );
    assert!(cookie_of(&own.await).starts_with("cts-"));
}

#[tokio::test]
async fn over_tls_cookies_are_bound_to_the_host_and_certificates_log_in_by_themselves() {
    let (servers, clients) = (Authority::new(), Authority::new());
    let api = Guarded::set(&servers, scene(true), |folder| {
        let file = path(folder, "clients.pem");
        fs::write(&file, clients.pem()).unwrap();
        Some(Authorities::File(file))
    })
    .await;
    let client = |names: &[&str]| {
        let client = trusting(&servers).redirect(reqwest::redirect::Policy::none());
        client.identity(named(&clients, names)).build().unwrap()
    };
    let person = client(&["read.cts.example"]);
    let page = person.get(api.url("/ui/")).send().await.unwrap();
    assert_eq!(page.status(), 200);
    let text = page.text().await.unwrap();
    assert_contains(&text, ["has no logout"]);
    assert!(!text.contains("/ui/logout"), "{text}");
    let stranger = client(&["127.0.0.1"]);
    let page = stranger.get(api.url("/ui/")).send().await.unwrap();
    assert_eq!(page.status(), 303);
    let origin = api.url("");
    let login = loop {
        let login = stranger
            .post(api.url("/ui/login"))
            .header("Origin", &origin);
        let login = login
            .header("Content-Type", super::FORM.1)
            .body(format!("token={ADMIN}"));
        let login = login.send().await.unwrap();
        if login.status() != 503 {
            break login;
        }
    };
    assert_eq!(login.status(), 303);
    let cookie = login.headers()["set-cookie"].to_str().unwrap();
    let port = api.stage.address.port();
    assert!(
        cookie.starts_with(&format!("__Host-cts-{port}=")),
        "{cookie}"
    );
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let page = stranger.get(api.url("/ui/")).header("Cookie", cookie);
    let text = page.send().await.unwrap().text().await.unwrap();
    assert_contains(&text, ["name of admin"]);
}

#[tokio::test]
async fn without_authentication_nobody_logs_in() {
    let stage = Stage::set(scene(false)).await;
    let form = get(&stage, "login?to=tasks", &[]).await;
    assert_eq!(
        (form.status, form.header("Location")),
        (303, Some("/ui/tasks"))
    );
    let answer = post(&stage, "login", &[], "token=x&to=..%2Fv1").await;
    assert_eq!(
        (answer.status, answer.header("Location")),
        (303, Some("/ui/"))
    );
    assert_eq!(answer.header("Set-Cookie"), None);
}

#[tokio::test]
async fn the_log_has_a_request_of_the_page_once_and_no_query_of_a_login() {
    let stage = stage(scene(true)).await;
    let cookie = log_in(&stage, READ).await;
    log::collect();
    with_cookie(&stage, "?search=visible", &cookie).await;
    with_cookie(&stage, "login?to=hidden", &cookie).await;
    with_cookie(&stage, "login/callback?code=hidden", &cookie).await;
    let lines = log::lines_of("api");
    let uris: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["fields"]["uri"].as_str())
        .collect();
    assert_eq!(
        uris,
        ["/ui/?search=visible", "/ui/login", "/ui/login/callback"]
    );
    let text = format!("{lines:?}");
    let secret = cookie.split_once('=').unwrap().1;
    assert!(!text.contains("hidden") && !text.contains(secret), "{text}");
}
