//! The login with a token, and all places in which the token must not be afterwards.

use cts_page_tests::{Browsers, Look};
use cts_testkit::{ScriptedAnswer, ScriptedHttp, eventually};
use cts_tests::{DEADLINE, Site, met, task as block};
use thirtyfour::SameSite;

use crate::marks::{LOG_IN, LOG_OUT, PART, TOKEN};
use crate::people::give;
use crate::scene::{MODULE, Scene};

#[tokio::test]
async fn a_token_that_is_pasted_once_makes_a_session_and_stays_nowhere() {
    let scene = Scene::secured(Site::new(), &block("web", MODULE, &["web"], "")).await;
    let operator = scene.token("operator", "operate").await;
    let admin = scene.token("root", "admin").await;
    let browsers = Browsers::start().await;
    let browser = browsers.open(&scene.origin(), &Look::default()).await;

    // Somebody follows a link in a chat.
    let link = format!(
        "<title>chat</title><link rel=icon href='data:,'><a href='{}/ui/tasks/web?from=chat#why'>web</a>",
        scene.origin()
    );
    let page = ScriptedAnswer::Text(200, "text/html", link);
    let chat = ScriptedHttp::start([page.clone(), page]).await;
    let chat_address = format!("http://localhost:{}/", chat.address().port());
    browser.open_address(&chat_address).await;
    browser.click_text("web").await;
    browser.until_there(TOKEN).await;
    browser.picture("login-light").await;
    browser.assert_accessible("login, light").await;
    browser.set_dark(true).await;
    browser.picture("login-dark").await;
    browser.assert_accessible("login, dark").await;

    give(&browser, "cts_thisIsNoToken").await;
    browser.until_text("[role='alert']", "not accepted").await;
    assert!(
        browser.cookies().await.is_empty(),
        "{:?}",
        browser.cookies().await
    );
    give(&browser, &operator).await;
    browser.until_text("h1", "web").await;
    let path = browser.path().await;
    assert!(path.starts_with("/ui/tasks/web?from=chat"), "{path}");

    let cookies = browser.cookies().await;
    let [cookie] = &*cookies else {
        panic!("{cookies:?}");
    };
    let port = scene.instance.api.address().port();
    assert_eq!(cookie.name, format!("cts-{port}"));
    assert_eq!(cookie.same_site, Some(SameSite::Lax));
    assert!(!cookie.value.contains(&operator[4..]), "{cookie:?}");
    let seen = browser.run(
        "return document.cookie + JSON.stringify({...localStorage, ...sessionStorage})",
        &[],
    );
    let seen = seen.await;
    assert!(!seen.to_string().contains(&cookie.value), "{seen}");

    // The same link opens without a login now.
    browser.open_address(&chat_address).await;
    browser.click_text("web").await;
    browser.until_text("h1", "web").await;

    // The session acts with the rights of the token, and is recorded.
    browser.run("scrollTo(0, 0)", &[]).await;
    browser.click_text("Disable").await;
    browser.until_text("#notice", "The task is disabled.").await;
    let records = eventually(DEADLINE, async || {
        let records = scene.get(&admin, "/v1/audit?limit=100").await.to_string();
        let is_recorded = records.contains("session.begin") && records.contains("task.update");
        met(is_recorded, records.clone()).map(|()| records)
    })
    .await;
    let session = cookie.value.clone();
    browser.click(LOG_OUT).await;
    browser.until_there(LOG_IN).await;
    assert!(
        browser.cookies().await.is_empty(),
        "{:?}",
        browser.cookies().await
    );
    browser.go("/ui/").await;
    browser.until_there(TOKEN).await;
    assert!(!browser.has(PART).await);

    let output = scene.instance.output();
    for secret in [&*operator, &session] {
        assert!(!output.contains(secret), "a secret is in the log");
        assert!(
            !records.contains(secret),
            "a secret is in the audit records"
        );
    }
    let visit = browser
        .close_tolerating(&["the server responded with a status of 4"])
        .await;
    for sent in &visit.requests {
        let is_hidden = !sent.url.contains(&*operator) && !sent.url.contains(&session);
        assert!(is_hidden, "a secret is in an address: {sent:?}");
    }
    let files = visit.files_with(&operator).await;
    assert!(
        files.is_empty(),
        "the browser remembers the token: {files:?}"
    );
    scene.instance.stop().await;
}
