//! Consent of two people in two browsers.

use cts_page_tests::{Browser, Browsers, Look};
use cts_testkit::eventually;
use cts_tests::{DEADLINE, Site, met, task as block};
use reqwest::Method;
use serde_json::{Value, json};

use crate::marks::{CONFIRM, MESSAGES, NOTICE, REFRESH, STATUS_422};
use crate::people::log_in;
use crate::scene::{MODULE, Scene, text};

const COMMENT: &str = "input[name='comment']";

async fn open(scene: &Scene, browsers: &Browsers, token: &str) -> Browser {
    let browser = browsers.open(&scene.origin(), &Look::default()).await;
    log_in(&browser, token).await;
    browser
}

async fn value(browser: &Browser, field: &str) -> Value {
    let script = "return document.querySelector(arguments[0]).value";
    browser.run(script, &[json!(field)]).await
}

#[tokio::test]
async fn a_decision_holds_only_for_the_effect_that_its_person_has_seen() {
    let site = Site::new();
    site.write_steps("pool");
    let pool = block("pool", "./modules/pool", &["web"], "approval = \"always\"");
    let scene = Scene::secured(site, &pool).await;
    let early = scene.token("early", "approve").await;
    let late = scene.token("late", "approve").await;
    // The first effect makes an object, the next ones replace it.
    let first = scene.waiting(&early, "pool", "").await;
    let path = format!("/v1/approvals/{}/approve", text(&first, "run_id"));
    let body = json!({"effect": first["effect"]});
    scene.send(&early, Method::POST, &path, &body).await;
    scene.site.wait_for_step("pool", "end", "web-1").await;
    scene.register("web", "web-2").await;
    let second = scene.waiting(&early, "pool", text(&first, "effect")).await;

    let browsers = Browsers::start().await;
    let one = open(&scene, &browsers, &early).await;
    let other = open(&scene, &browsers, &late).await;
    let screen = format!("/ui/approvals/{}", text(&second, "run_id"));
    for browser in [&one, &other] {
        browser.go(&screen).await;
        browser.until_text("main", "1 replaced").await;
        browser.mark().await;
    }
    other.fill(COMMENT, "looks right").await;
    scene.register("web", "web-3").await;

    // Consent to a replacement is typed.
    one.fill(CONFIRM, "web").await;
    one.click_text("Approve").await;
    one.until_text("main .error", "nothing was changed").await;
    let described = "document.getElementById(document.activeElement.getAttribute('aria-describedby')).innerText.includes('pool')";
    one.until(described).await;
    one.fill(CONFIRM, "pool").await;
    one.click_text("Approve").await;
    one.until_text(NOTICE, "The effect is approved.").await;

    // The run plans again, with the newer instance: this is another effect, which nobody has approved.
    let third = scene.waiting(&early, "pool", text(&second, "effect")).await;
    other.until_text(MESSAGES, "Newer data are there.").await;
    assert_eq!(value(&other, COMMENT).await, "looks right");
    other.fill(CONFIRM, "pool").await;
    other.click_text("Approve").await;
    other
        .until_text(
            NOTICE,
            "Nothing was decided, because the effect has changed. Shown: 1 replaced. Now: ",
        )
        .await;
    let unchanged = scene.waiting(&late, "pool", "").await;
    assert_eq!(unchanged["effect"], third["effect"], "{unchanged}");

    // The answer has the newer effect, with the comment, and without the consent that was typed.
    assert_eq!(value(&other, COMMENT).await, "looks right");
    assert_eq!(value(&other, CONFIRM).await, "");
    other.until_text("main", "Differs from the plan").await;
    // Newer data do not replace what the answer has in its fields.
    other.run(REFRESH, &[]).await;
    other.until_text(MESSAGES, "Newer data are there.").await;
    assert_eq!(value(&other, COMMENT).await, "looks right");
    other.fill(CONFIRM, "pool").await;
    other.click_text("Approve").await;
    other.until_text(NOTICE, "The effect is approved.").await;
    let ids = "web-1,web-2,web-3";
    scene.site.wait_for_step("pool", "end", ids).await;
    one.go(&screen).await;
    one.until_text("main", "looks right").await;
    one.close_after(&[STATUS_422]).await;
    other.close_after(&[STATUS_422]).await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn people_without_the_right_see_why_a_button_is_grey() {
    let scene = Scene::secured(Site::new(), &block("web", MODULE, &["web"], "")).await;
    let reader = scene.token("reader", "read").await;
    let admin = scene.token("root", "admin").await;
    let browsers = Browsers::start().await;
    let browser = open(&scene, &browsers, &reader).await;
    browser.go("/ui/tasks/web").await;
    browser.until_text("main .greyed", "Disable").await;
    let reasons = "return [...document.querySelectorAll('main .greyed')].map(it => it.title)";
    let reasons: Vec<String> = serde_json::from_value(browser.run(reasons, &[]).await).unwrap();
    let is_right = |reason: &String| reason.starts_with("needs the role ");
    assert!(
        reasons.len() > 2 && reasons.iter().all(is_right),
        "{reasons:?}"
    );
    assert!(!browser.has("main form[method='post']").await);
    browser.assert_accessible("greyed buttons").await;
    // Audit records are for administrators.
    browser.go("/ui/audit").await;
    browser.until_text("main", "admin").await;
    browser.close().await;
    let known = eventually(DEADLINE, async || {
        let records = scene.get(&admin, "/v1/audit?limit=100").await;
        let found = records.to_string().contains("\"caller\":\"reader\"");
        met(found, records.to_string()).map(|()| records)
    })
    .await;
    assert!(!known.to_string().contains(&reader));
    scene.instance.stop().await;
}
