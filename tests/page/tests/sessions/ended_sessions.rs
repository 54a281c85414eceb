//! Sessions that end while a page is open.

use cts_page_tests::{Browsers, Look};
use cts_tests::{Site, task as block};
use serde_json::json;

use crate::marks::{CONFIRM, LOG_OUT, MESSAGES, PART, SESSION_ENDED, STATUS_401, TOKEN};
use crate::people::{give, log_in};
use crate::scene::{MODULE, Scene};

#[tokio::test]
async fn a_begun_form_outlasts_its_session_and_is_sent_after_a_new_login() {
    let scene = Scene::secured(Site::new(), &block("web", MODULE, &["web"], "")).await;
    let admin = scene.token("root", "admin").await;
    let other = scene.token("other", "admin").await;
    let browsers = Browsers::start().await;
    let browser = browsers.open(&scene.origin(), &Look::default()).await;
    log_in(&browser, &admin).await;
    browser.go("/ui/tasks/web/delete").await;
    browser.fill(CONFIRM, "web").await;
    browser.mark().await;
    scene.command(&["token", "revoke", "root"]).await;
    browser.until_text(MESSAGES, SESSION_ENDED).await;
    // The form is not lost when it is sent.
    browser.click_text("Delete").await;
    browser.until_text(MESSAGES, SESSION_ENDED).await;
    let value = "return document.querySelector(arguments[0]).value";
    assert_eq!(browser.run(value, &[json!(CONFIRM)]).await, "web");

    // A new login in another tab lets this one go on.
    let form = browser.tab().await;
    browser.click_text("Log in again").await;
    let login = browser.tab_besides(&[&form]).await;
    browser.show_tab(&login).await;
    give(&browser, &other).await;
    browser.until_text("h1", "web").await;
    let has_modules =
        "performance.getEntriesByType('resource').some(it => it.name.endsWith('/form.js'))";
    browser.until(has_modules).await;
    let messages = browser.texts(MESSAGES).await;
    assert!(!messages.concat().contains(SESSION_ENDED), "{messages:?}");
    browser.show_tab(&form).await;
    browser.until_marked().await;
    assert_eq!(browser.run(value, &[json!(CONFIRM)]).await, "web");
    browser.click_text("Delete").await;
    browser
        .until_text("#notice", "The task is deleted after its runs have ended.")
        .await;
    browser.close_after(&[STATUS_401]).await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_logout_in_one_tab_ends_the_others() {
    let scene = Scene::secured(Site::new(), &block("web", MODULE, &["web"], "")).await;
    let reader = scene.token("reader", "read").await;
    let browsers = Browsers::start().await;
    let browser = browsers.open(&scene.origin(), &Look::default()).await;
    log_in(&browser, &reader).await;
    let first = browser.tab().await;
    browser.new_tab().await;
    browser.go("/ui/tasks/web").await;
    browser.until_text(PART, "Tasks").await;
    browser.click(LOG_OUT).await;
    browser.until_there(TOKEN).await;
    browser.show_tab(&first).await;
    browser.until_text(MESSAGES, SESSION_ENDED).await;
    // Without a session there is nothing to be read, neither by a link.
    browser.click_text("Runs").await;
    browser.until_there(TOKEN).await;
    browser.close_tolerating(&[STATUS_401]).await;
    scene.instance.stop().await;
}
