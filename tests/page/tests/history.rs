//! The history of the browser: addresses hold the state of a screen.

use cts_page_tests::{Browsers, Look};
use serde_json::json;

use crate::shown::shown;

const SEARCH: &str = "form[role='search'] input[name='search']";

#[tokio::test]
async fn back_and_forward_bring_back_the_screen_with_its_search() {
    let (shown, browsers) = (shown().await, Browsers::start().await);
    let browser = shown.open(&browsers, &Look::default()).await;
    browser.go("/ui/tasks?view=list").await;
    browser.mark().await;
    browser.fill(SEARCH, "bro").await;
    browser
        .until("location.search.includes('search=bro')")
        .await;
    browser
        .until("!document.querySelector('main tbody').innerText.includes('asks')")
        .await;
    // The focus stays in the field, and what was typed is in the address.
    let focused = browser.run("return document.activeElement.name", &[]).await;
    assert_eq!(focused, "search");
    let list = browser.path().await;
    assert!(list.contains("search=bro"), "{list}");
    browser.click_text("broken").await;
    browser.until_path("/ui/tasks/broken").await;
    browser.until_text("h1", "broken").await;

    browser.back().await;
    browser.until_path(&list).await;
    browser.until_text("h1", "Tasks").await;
    let value = "return document.querySelector(arguments[0]).value";
    assert_eq!(browser.run(value, &[json!(SEARCH)]).await, "bro");
    browser
        .until("document.activeElement.matches('h1, main')")
        .await;
    browser.forward().await;
    browser.until_path("/ui/tasks/broken").await;
    browser.until_text("h1", "broken").await;
    browser
        .until("document.activeElement.matches('h1, main')")
        .await;
    browser.until_marked().await;

    // The address alone opens the same screen.
    browser.go(&list).await;
    browser.until_text("main tbody", "broken").await;
    assert_eq!(browser.run(value, &[json!(SEARCH)]).await, "bro");
    browser.close().await;
}
