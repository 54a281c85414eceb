//! Screens with the data of a running system.

use crate::marks::PART;
use crate::shown::shown;
use cts_page_tests::{Browsers, Look};

#[tokio::test]
async fn each_screen_shows_the_data_of_the_system() {
    let (shown, browsers) = (shown().await, Browsers::start().await);
    let browser = shown.open(&browsers, &Look::default()).await;
    for screen in shown.screens() {
        browser.go(&screen.path).await;
        for text in screen.texts {
            browser.until_text("main", text).await;
        }
        let alerts = browser.texts("main [role='alert']").await;
        assert!(alerts.is_empty(), "{}: {alerts:?}", screen.name);
    }
    browser.close().await;
}

#[tokio::test]
async fn the_navigation_leads_to_each_part_and_marks_it() {
    let (shown, browsers) = (shown().await, Browsers::start().await);
    let browser = shown.open(&browsers, &Look::default()).await;
    browser.go("/ui/").await;
    browser.mark().await;
    for part in ["Tasks", "Runs", "Approvals", "Cluster", "Audit", "Overview"] {
        browser.click_text(part).await;
        browser.until_text(PART, part).await;
        browser.until_text("h1", part).await;
        // A person with a screen reader is at the new heading.
        browser
            .until("document.activeElement.matches('h1, main')")
            .await;
    }
    browser.until_marked().await;
    browser.close().await;
}

#[tokio::test]
async fn a_browser_at_the_root_gets_to_the_page() {
    let (shown, browsers) = (shown().await, Browsers::start().await);
    let browser = shown.open(&browsers, &Look::default()).await;
    browser.go("/").await;
    browser.until_path("/ui/").await;
    let (status, _) = shown.api().ask("/v1/health").await.unwrap();
    assert_eq!(status, 200);
    browser.close().await;
}
