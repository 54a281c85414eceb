//! Accessibility of the screens, and their pictures for the documents.

use std::collections::HashSet;

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

/// Shapes of the marks of states that are shown, each with the colour of its mark.
const SHAPES: &str = "
    const marks = [...document.querySelectorAll('main .cell')].map(cell => getComputedStyle(cell))
        .concat([...document.querySelectorAll('main .state')].map(state => getComputedStyle(state, '::before')));
    return marks.map(mark => [mark.backgroundColor, mark.clipPath + mark.borderRadius]);";

#[tokio::test]
async fn states_have_shapes_where_the_system_sets_the_colours() {
    let (shown, browsers) = (shown().await, Browsers::start().await);
    let browser = shown.open(&browsers, &Look::default()).await;
    for scheme in ["light", "dark"] {
        let features = [
            ("forced-colors", "active"),
            ("prefers-color-scheme", scheme),
            ("prefers-reduced-motion", "reduce"),
        ];
        browser.set_media(&features).await;
        for screen in shown.screens() {
            browser.go(&screen.path).await;
            browser.until_text("main", screen.texts[0]).await;
            let name = format!("{}, forced colours, {scheme}", screen.name);
            browser.assert_accessible(&name).await;
            browser.assert_fits(&name).await;
            let moving = "return document.getAnimations().length";
            assert_eq!(browser.run(moving, &[]).await, 0, "{name}");
        }
        browser.go("/ui/tasks?view=grid").await;
        browser.until_there(".cell").await;
        let marks = browser.run(SHAPES, &[]).await;
        let marks: Vec<(String, String)> = serde_json::from_value(marks).unwrap();
        let (colours, shapes): (HashSet<_>, HashSet<_>) = marks.into_iter().unzip();
        assert_eq!(colours.len(), 1, "{colours:?}");
        assert!(shapes.len() > 3, "{shapes:?}");
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
