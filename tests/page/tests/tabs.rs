//! Tabs of a browser that has no `SharedWorker`: the tab that was opened first follows the changes for all of them.

use cts_page_tests::{Browsers, Look};
use cts_tests::{Site, task as block};
use reqwest::Method;
use serde_json::json;

use crate::people::log_in;
use crate::scene::{MODULE, Scene};

/// Without `SharedWorker`, and with timers that rest in hidden tabs, where those of Chromium run once a minute after five
/// minutes.
const WITHOUT_WORKER: &str = "
    delete globalThis.SharedWorker;
    const every = setInterval;
    setInterval = (act, time) => every(() => document.hidden || act(), time);
";

async fn switch(scene: &Scene, token: &str, enabled: bool) {
    let body = json!({"enabled": enabled});
    scene
        .send(token, Method::PATCH, "/v1/tasks/web", &body)
        .await;
}

#[tokio::test]
async fn tabs_without_a_shared_worker_have_one_stream_and_follow_each_other() {
    let scene = Scene::secured(Site::new(), &block("web", MODULE, &["web"], "")).await;
    let token = scene.token("operator", "operate").await;
    let browsers = Browsers::start().await;
    let look = Look {
        first_script: WITHOUT_WORKER,
        ..Look::default()
    };
    let browser = browsers.open(&scene.origin(), &look).await;
    log_in(&browser, &token).await;
    let first = browser.tab().await;
    let second = browser.new_tab().await;
    for tab in [&first, &second] {
        browser.show_tab(tab).await;
        browser.go("/ui/tasks/web").await;
        browser.until_text("main .sentence", "successful").await;
        browser.until("!globalThis.SharedWorker").await;
        browser.mark().await;
    }
    switch(&scene, &token, false).await;
    for tab in [&first, &second] {
        browser.show_tab(tab).await;
        browser.until_text("main .sentence", "disabled").await;
        browser.until_marked().await;
    }
    // The hidden tab follows on, although its timers rest.
    browser.until("performance.now() > 10_000").await;
    switch(&scene, &token, true).await;
    browser.until_text("main .sentence", "successful").await;
    switch(&scene, &token, false).await;
    browser.until_text("main .sentence", "disabled").await;
    browser.until_marked().await;
    // The tab that follows goes, and is the youngest one when it comes back; the hidden one follows at once.
    browser.show_tab(&first).await;
    browser.go("/ui/tasks/web").await;
    browser.mark().await;
    for enabled in [true, false] {
        let state = if enabled { "successful" } else { "disabled" };
        switch(&scene, &token, enabled).await;
        browser.until_text("main .sentence", state).await;
    }
    browser.until_marked().await;
    // The tab that follows is closed, and the other one takes over.
    browser.show_tab(&second).await;
    browser.close_tab(&first).await;
    switch(&scene, &token, true).await;
    browser.until_text("main .sentence", "successful").await;
    browser.until_marked().await;
    let visit = browser.close_tolerating(&["net::ERR_"]).await;
    let streams = visit.to("/ui/follow");
    assert!(streams.len() >= 2, "{streams:?}");
    assert_eq!(visit.most_at_once("/ui/follow"), 1, "{streams:?}");
    scene.instance.stop().await;
}
