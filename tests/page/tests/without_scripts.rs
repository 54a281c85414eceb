//! A browser that runs no scripts.

use cts_page_tests::{Browsers, Look};
use cts_testkit::eventually;
use cts_tests::{DEADLINE, met};

use crate::marks::{CONFIRM, NOTICE, STATUS_422};
use crate::shown::shown;

#[tokio::test]
async fn each_screen_shows_its_data_and_can_be_refreshed_without_scripts() {
    let (shown, browsers) = (shown().await, Browsers::start().await);
    let browser = shown.open(&browsers, &Look::without_scripts()).await;
    for screen in shown.screens() {
        browser.go(&screen.path).await;
        for text in screen.texts {
            browser.until_text("main", text).await;
        }
        browser.click_text("Refresh").await;
        browser.until_path(&screen.path).await;
    }
    browser.go("/ui/").await;
    assert!(!browser.has("#messages").await, "a script has run");
    browser.close().await;
}

#[tokio::test]
async fn a_task_is_switched_by_forms_without_scripts() {
    let (shown, browsers) = (shown().await, Browsers::start().await);
    let browser = shown.open(&browsers, &Look::without_scripts()).await;
    browser.go("/ui/tasks/switched").await;
    for (button, is_enabled) in [("Enable", true), ("Disable", false)] {
        browser.click_text(button).await;
        let notice = format!("The task is {}abled", if is_enabled { "en" } else { "dis" });
        browser.until_text(NOTICE, &notice).await;
        eventually(DEADLINE, async || {
            let now = shown.api().is_enabled("switched").await;
            met(now == is_enabled, format!("{button}: {now}"))
        })
        .await;
    }
    // A confirmation that is wrong changes nothing, and keeps what was typed.
    browser.go("/ui/tasks/switched/delete").await;
    browser.fill(CONFIRM, "another").await;
    browser.click_text("Delete").await;
    browser.until_text("main", "nothing was changed").await;
    let typed = browser.run(
        "return document.querySelector(\"input[name='confirm']\").value",
        &[],
    );
    assert_eq!(typed.await, "another");
    let (status, _) = shown.api().ask("/v1/tasks/switched").await.unwrap();
    assert_eq!(status, 200);
    browser.close_after(&[STATUS_422]).await;
}
