//! Forms whose answer was lost, and which are sent once more.

use cts_page_tests::{Browser, Browsers, Look};
use cts_tests::{Site, task as block};
use serde_json::{Value, json};

use crate::marks::{MESSAGES, NOTICE, REFRESH};
use crate::scene::{MODULE, Scene, client};

/// Sends the form of a button twice at the same time, and returns the addresses that the answers lead to.
const SEND_TWICE: &str = "
    const forms = [...document.querySelectorAll('main form')];
    const form = forms.find(form => form.innerText.includes(arguments[0]));
    const body = new URLSearchParams(new FormData(form));
    const send = () => fetch(form.action, { method: 'POST', body }).then(answer => answer.url);
    return Promise.all([send(), send()])";

/// Loses the answers to forms; `FIND` brings them back.
const LOSE: &str = "
    window.answered = window.fetch;
    window.fetch = (address, options) => window.answered(address, options).then(answer => {
        if (options?.method === 'POST') throw new TypeError('lost');
        return answer;
    })";
const FIND: &str = "window.fetch = window.answered";

/// The key of the first form whose address ends so.
async fn key(browser: &Browser, action: &str) -> String {
    let script = "return document.querySelector(`main form[action$='${arguments[0]}'] input[name='key']`).value";
    let key = browser.run(script, &[json!(action)]).await;
    key.as_str().unwrap().to_owned()
}

/// The runs of `web`, newest first.
async fn runs(scene: &Scene) -> Vec<Value> {
    let path = scene.instance.api.url("/v1/runs?task=web");
    let listed: Value = client()
        .get(path)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    listed["runs"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_form_that_is_sent_twice_requests_one_run() {
    let scene = Scene::start(Site::new(), &block("web", MODULE, &["web"], "")).await;
    let api = &scene.instance.api;
    api.wait_for_events("web", 1).await;
    let browsers = Browsers::start().await;
    let browser = browsers.open(&scene.origin(), &Look::default()).await;
    browser.go("/ui/tasks/web").await;
    let mut made = Vec::new();
    for button in ["Run now", "Inspect"] {
        browser.until_text("main form", button).await;
        let led_to = browser.run(SEND_TWICE, &[json!(button)]).await;
        assert_eq!(led_to[0], led_to[1], "{button}");
        let address = led_to[0].as_str().unwrap();
        let run = address.rsplit('/').next().unwrap();
        let (run, _done) = run.split_once('?').unwrap();
        assert!(address.contains("/ui/runs/"), "{address}");
        made.insert(0, json!(run));
        api.wait_for_events("web", 2).await;
        browser.go("/ui/tasks/web").await;
    }
    let listed = runs(&scene).await;
    let ids: Vec<&Value> = listed.iter().map(|run| &run["id"]).collect();
    assert_eq!(ids[..2], made.iter().collect::<Vec<_>>());
    assert_eq!(ids.len(), 3, "{listed:?}");
    browser.close().await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_form_without_an_answer_keeps_its_key() {
    let task = block("web", MODULE, &["web"], "on_delete = \"destroy\"");
    let scene = Scene::start(Site::new(), &task).await;
    scene.instance.api.wait_for_events("web", 1).await;
    let browsers = Browsers::start().await;
    let browser = browsers.open(&scene.origin(), &Look::default()).await;
    // Newer data bring another key into the same form, which keeps the focus.
    browser.go("/ui/tasks/web").await;
    browser.until_text("main form", "Run now").await;
    let first = key(&browser, "/run").await;
    let focus = "(window.form = document.querySelector(\"main form[action$='/run']\")).querySelector('button').focus()";
    browser.run(focus, &[]).await;
    browser.run(REFRESH, &[]).await;
    let newer = format!("window.form.querySelector(\"input[name='key']\").value !== '{first}'");
    browser.until(&newer).await;
    browser
        .until("window.form.isConnected && window.form.contains(document.activeElement)")
        .await;

    browser.go("/ui/tasks/web/delete").await;
    browser
        .until_text("main form", "Plan the destruction")
        .await;
    browser.mark().await;
    browser.run(LOSE, &[]).await;
    browser.click_text("Plan the destruction").await;
    browser.until_text(MESSAGES, "No answer came.").await;
    let first = key(&browser, "/destroy-plan").await;
    browser.run(FIND, &[]).await;
    browser.run(REFRESH, &[]).await;
    assert_eq!(key(&browser, "/destroy-plan").await, first);
    browser.click_text("Plan the destruction").await;
    browser
        .until_text(NOTICE, "The destruction is planned.")
        .await;
    let plans = async || {
        let runs = runs(&scene).await.into_iter();
        runs.filter(|run| run["kind"] == "destroy_plan").count()
    };
    assert_eq!(plans().await, 1);
    // It was answered, so the next press plans anew.
    let next = key(&browser, "/destroy-plan").await;
    assert_ne!(next, first);
    let other_run = "return location.search";
    let before = browser.run(other_run, &[]).await;
    browser.click_text("Plan the destruction").await;
    browser
        .until(&format!("location.search !== {before}"))
        .await;
    assert_eq!(plans().await, 2);
    browser.close().await;
    scene.instance.stop().await;
}
