//! Accessibility of the screens, and their pictures for the documents.

use crate::shown::shown;
use cts_page_tests::{Browsers, Look};

#[tokio::test]
async fn axe_finds_nothing_serious_on_any_screen_in_light_and_dark() {
    let (shown, browsers) = (shown().await, Browsers::start().await);
    let browser = shown.open(&browsers, &Look::default()).await;
    for screen in shown.screens() {
        let name = screen.name;
        browser.set_dark(false).await;
        browser.go(&screen.path).await;
        browser.until_text("main", screen.texts[0]).await;
        browser.picture(&format!("{name}-light")).await;
        browser.assert_accessible(&format!("{name}, light")).await;
        browser.set_dark(true).await;
        browser.picture(&format!("{name}-dark")).await;
        browser.assert_accessible(&format!("{name}, dark")).await;
    }
    browser.close().await;
}

/// The keys and the messages of the scripts, too.
#[tokio::test]
async fn the_list_of_keys_opens_and_is_accessible() {
    let (shown, browsers) = (shown().await, Browsers::start().await);
    let browser = shown.open(&browsers, &Look::default()).await;
    browser.go("/ui/").await;
    browser
        .until("document.querySelector('#tools [aria-label=\"Keys\"]')")
        .await;
    browser.press("?").await;
    browser.until_text("dialog[open]", "Search").await;
    browser.assert_accessible("keys").await;
    browser.click_text("Close").await;
    browser
        .until("!document.querySelector('dialog[open]')")
        .await;
    browser.press("gr").await;
    browser.until_path("/ui/runs").await;
    // The rows of each list can be walked through.
    browser.press("j").await;
    browser
        .until("document.activeElement.matches('main tbody a')")
        .await;
    browser.close().await;
}
