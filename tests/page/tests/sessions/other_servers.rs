//! Other servers of the same host, whose pages share the cookies of this one (docs/page.md).

use cts_page_tests::{Browsers, Look};
use cts_testkit::{ScriptedAnswer, ScriptedHttp};
use cts_tests::{Site, task as block};

use crate::marks::{LOG_OUT, TOKEN};
use crate::people::{give, log_in};
use crate::scene::{MODULE, Scene};

#[tokio::test]
async fn another_server_of_the_host_gets_no_token_and_its_forms_are_refused() {
    let scene = Scene::secured(Site::new(), &block("web", MODULE, &["web"], "")).await;
    let operator = scene.token("operator", "operate").await;
    let browsers = Browsers::start().await;
    let browser = browsers.open(&scene.origin(), &Look::default()).await;
    log_in(&browser, &operator).await;
    let page = format!(
        "<title>other</title><link rel=icon href='data:,'>\
         <form method=post action='{0}/ui/tasks/web/disable'><button>Win a prize</button></form>\
         <script>fetch('{0}/ui/tasks/web/disable', {{method: 'POST', mode: 'no-cors', credentials: 'include'}})\
         .catch(() => {{}}).then(() => {{ document.title = 'sent' }});\
         fetch('{0}/ui/', {{credentials: 'include'}}).then(it => it.text(), it => 'refused')\
         .then(it => {{ document.body.append(it) }})</script>",
        scene.origin()
    );
    let other = ScriptedHttp::start([ScriptedAnswer::Text(200, "text/html", page)]).await;
    browser
        .open_address(&format!("http://{}/", other.address()))
        .await;
    browser.until("document.title === 'sent'").await;
    // The answer cannot be read there.
    browser.until_text("body", "refused").await;
    browser.click_text("Win a prize").await;
    browser.until_path("/ui/tasks/web/disable").await;
    browser.until_text("body", "may not change anything").await;
    assert!(scene.get(&operator, "/v1/tasks/web").await["task"]["enabled"] == true);

    // The session that the other server has seen is good for nothing but the page.
    let requests = other.requests();
    let cookie = requests[0].header("cookie").unwrap_or_default();
    let (_, session) = cookie
        .split_once('=')
        .expect("the browser sends the cookie");
    assert!(!format!("{requests:?}").contains(&operator));
    for credential in [
        ("cookie", cookie),
        ("authorization", &format!("Bearer {session}")),
    ] {
        let answer = scene.ask("/v1/tasks", credential).await;
        assert_eq!(answer.status(), 401, "{credential:?}");
    }
    let refusals = [
        "CORS policy",
        "status of 403",
        "ERR_BLOCKED_BY_RESPONSE.NotSameOrigin",
        "ERR_FAILED",
    ];
    browser.close_after(&refusals).await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn two_clusters_of_one_host_have_their_own_logins() {
    let start = async || {
        let web = block("web", MODULE, &["web"], "");
        Scene::secured(Site::new(), &web).await
    };
    let (one, other) = tokio::join!(start(), start());
    let [operator, reader] = [
        one.token("operator", "operate").await,
        other.token("reader", "read").await,
    ];
    let browsers = Browsers::start().await;
    let browser = browsers.open(&one.origin(), &Look::default()).await;
    log_in(&browser, &operator).await;
    browser
        .open_address(&format!("{}/ui/", other.origin()))
        .await;
    give(&browser, &reader).await;
    browser.until_text("header .leave", "reader").await;
    browser.click(LOG_OUT).await;
    browser.until_there(TOKEN).await;
    browser.go("/ui/").await;
    browser.until_text("header .leave", "operator").await;
    browser.close().await;
    one.instance.stop().await;
    other.instance.stop().await;
}
