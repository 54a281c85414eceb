//! Changes of the system on a page that is open.

use cts_page_tests::{Browsers, Look};
use cts_tests::{Site, task as block};
use reqwest::Method;
use serde_json::json;

use crate::marks::MESSAGES;
use crate::scene::{MODULE, Scene};

async fn switch(scene: &Scene, enabled: bool) {
    let body = json!({"enabled": enabled});
    let api = &scene.instance.api;
    let (status, answer) = api.send(Method::PATCH, "/v1/tasks/web", Some(body)).await;
    assert_eq!(status, 200, "{answer}");
}

#[tokio::test]
async fn an_open_page_follows_changes_keeps_its_state_and_can_be_frozen() {
    let scene = Scene::start(Site::new(), &block("web", MODULE, &["web"], "")).await;
    scene.instance.api.wait_for_events("web", 1).await;
    let browsers = Browsers::start().await;
    let browser = browsers.open(&scene.origin(), &Look::default()).await;
    browser.go("/ui/tasks/web").await;
    browser.until_text("main", "successful").await;
    browser.mark().await;
    // What the reader has opened and selected stays.
    browser.click("#why-views summary").await;
    browser
        .until("document.querySelector('#why-views').open")
        .await;
    browser
        .run("document.querySelector('#why-views summary').focus()", &[])
        .await;
    switch(&scene, false).await;
    browser.until_text("main .sentence", "disabled").await;
    let kept = "document.querySelector('#why-views').open && document.activeElement.matches('#why-views summary')";
    browser.until(kept).await;

    browser.click_text("Freeze").await;
    browser.until_text(MESSAGES, "Frozen").await;
    switch(&scene, true).await;
    scene.register("web", "web-2").await;
    scene.instance.api.wait_for_events("web", 2).await;
    let sentence = browser.texts("main .sentence").await;
    assert!(sentence[0].contains("disabled"), "{sentence:?}");
    browser.click_text("Go on").await;
    browser.until_text("main .sentence", "successful").await;
    browser.until_text("#why", "web-2").await;
    browser
        .until("document.querySelector('#why-views').open && document.activeElement.innerText === 'Freeze'")
        .await;
    browser.until_marked().await;
    let visit = browser.close().await;
    assert_eq!(visit.most_at_once("/ui/follow"), 1);
    scene.instance.stop().await;
}
