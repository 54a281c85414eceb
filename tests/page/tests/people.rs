//! People who log in.

use cts_page_tests::Browser;

use crate::marks::{LOG_IN, PART, TOKEN};

/// Opens the page, gives the token and waits for the overview.
pub(crate) async fn log_in(browser: &Browser, token: &str) {
    browser.go("/ui/").await;
    give(browser, token).await;
    browser.until_text(PART, "Overview").await;
}

/// Gives the token to the form of the login, once that is shown.
pub(crate) async fn give(browser: &Browser, token: &str) {
    browser.fill(TOKEN, token).await;
    browser.click(LOG_IN).await;
}
