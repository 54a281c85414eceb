//! Several gateways, and restarts of one of them, behind the tabs of a browser.

use std::net::SocketAddr;
use std::time::Duration;

use cts_page_tests::{Browser, Browsers, Look};
use cts_testkit::eventually;
use cts_tests::{DEADLINE, Plan, Site, met, task as block};
use reqwest::Response;
use tokio::time::timeout;

use crate::cluster::ClusterScene;
use crate::marks::{LOG_OUT, PART, TOKEN};
use crate::people::{give, log_in};
use crate::scene::{MODULE, client};

/// Added to a time that is promised: processes start, poll and compete for two processors.
const POLL: Duration = Duration::from_secs(1);

/// A logout ends the session everywhere within this time.
const PROMISED: Duration = Duration::from_secs(2);

const TABS: usize = 8;

/// One of each service but two gateways, with the task `web`.
async fn scene() -> ClusterScene {
    let web = block("web", MODULE, &["web"], "");
    ClusterScene::start(Site::new(), Plan::of(1, 1, 1, 2), &web).await
}

/// Opens tabs with the task in a browser that is logged in, changes it before and after a restart of the gateway, and looks at all of them.
async fn open_eight_tabs(
    scene: &mut ClusterScene,
    browser: Browser,
    token: &str,
    (gateway, files): (usize, &[String]),
) {
    let mut tabs = vec![browser.tab().await];
    while tabs.len() < TABS {
        tabs.push(browser.new_tab().await);
    }
    for tab in &tabs {
        browser.show_tab(tab).await;
        browser.go("/ui/tasks/web").await;
        browser.until_text("main .sentence", "successful").await;
        browser.mark().await;
    }
    for (enabled, state) in [(false, "disabled"), (true, "successful")] {
        if enabled {
            scene.restart(gateway, files).await;
        }
        scene.switch(token, enabled).await;
        for tab in &tabs {
            browser.show_tab(tab).await;
            browser.until_text("main .sentence", state).await;
            browser.until_marked().await;
        }
    }
    let visit = browser.close_tolerating(&["net::ERR_"]).await;
    let streams = visit.to("/ui/follow");
    assert!(streams.len() >= 2, "{streams:?}");
    assert_eq!(visit.most_at_once("/ui/follow"), 1, "{streams:?}");
}

#[tokio::test]
async fn eight_tabs_share_one_stream_also_after_a_restart_of_the_gateway() {
    let mut scene = scene().await;
    let token = scene.token("operator", "operate").await;
    let browsers = Browsers::start().await;
    // Chromium does not trust this origin like one with TLS.
    let origin = format!("http://cts.test:{}", scene.address(0).port());
    let browser = browsers.open(&origin, &Look::default()).await;
    log_in(&browser, &token).await;
    open_eight_tabs(&mut scene, browser, &token, (0, &[])).await;

    let (files, look) = scene.restart_with_tls(1, "").await;
    let port = scene.address(1).port();
    let browser = browsers
        .open(&format!("https://cts.test:{port}"), &look)
        .await;
    log_in(&browser, &token).await;
    let cookies = browser.cookies().await;
    assert!(
        cookies
            .iter()
            .any(|it| it.name == format!("__Host-cts-{port}")),
        "{cookies:?}"
    );
    open_eight_tabs(&mut scene, browser, &token, (1, &files)).await;
}

/// A request of the page with the session of another gateway.
async fn follow(address: SocketAddr, session: &str) -> Response {
    let path = format!("http://{address}/ui/follow?keys=overview");
    let cookie = format!("cts-{}={session}", address.port());
    client()
        .get(path)
        .header("cookie", cookie)
        .send()
        .await
        .unwrap()
}

#[tokio::test]
async fn a_logout_ends_the_session_at_each_gateway() {
    let mut scene = scene().await;
    let token = scene.token("reader", "read").await;
    let browsers = Browsers::start().await;
    let origin = scene.cluster.api(0).url("");
    let browser = browsers.open(&origin, &Look::default()).await;
    log_in(&browser, &token).await;
    let session = browser.cookies().await.remove(0).value;
    // The other gateway waits for a session that it does not know yet.
    let other = scene.address(1);
    let mut stream = follow(other, &session).await;
    assert_eq!(stream.status(), 200);
    browser.click(LOG_OUT).await;
    browser.until_there(TOKEN).await;
    let ended = async {
        while let Ok(Some(_events)) = stream.chunk().await {}
        eventually(DEADLINE, async || {
            let status = follow(other, &session).await.status();
            met(status == 401, status.to_string())
        })
        .await;
    };
    timeout(PROMISED + POLL, ended).await.unwrap();

    // Two gateways of one host are two pages: a login at one of them is none at the other.
    let mut names = Vec::new();
    for gateway in [0, 1] {
        let address = scene.cluster.api(gateway).url("/ui/");
        browser.open_address(&address).await;
        give(&browser, &token).await;
        browser.until_text(PART, "Overview").await;
        names.push(format!("cts-{}", scene.address(gateway).port()));
    }
    let cookies: Vec<String> = browser
        .cookies()
        .await
        .into_iter()
        .map(|it| it.name)
        .collect();
    assert!(
        names.iter().all(|name| cookies.contains(name)),
        "{cookies:?}"
    );
    browser.close().await;
}
