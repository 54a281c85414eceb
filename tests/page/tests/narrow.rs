//! Narrow and large windows.

use crate::shown::shown;
use cts_page_tests::{Browsers, Look};

/// Pixels of CSS. At 640 pixels a window of 1,280 pixels is at 200 %.
const WIDTHS: [u32; 3] = [320, 640, 2560];

#[tokio::test]
async fn no_screen_needs_to_be_scrolled_sideways() {
    let (shown, browsers) = (shown().await, Browsers::start().await);
    let browser = shown.open(&browsers, &Look::default()).await;
    for screen in shown.screens() {
        browser.go(&screen.path).await;
        browser.until_text("main", screen.texts[0]).await;
        for width in WIDTHS {
            browser.set_size(width, 800).await;
            browser
                .assert_fits(&format!("{} at {width} px", screen.name))
                .await;
        }
    }
    browser.close().await;
}
