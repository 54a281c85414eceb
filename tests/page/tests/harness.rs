//! The harness itself, at a page without cts: what it reports of browsers is there.

use cts_page_tests::{Browsers, Look};
use cts_testkit::{ScriptedAnswer, ScriptedHttp};

/// A page that breaks its policy, calls two addresses, and has a field without a label and an element that is too wide.
const PAGE: &str = "<!doctype html><html lang=en><meta charset=utf-8>\
    <meta http-equiv=Content-Security-Policy content=\"script-src 'self'; object-src 'none'\">\
    <title>page</title><link rel=icon href='data:,'><script src=/script></script>\
    <main><h1>Hello</h1><label>Name <input id=name></label><a href=#end>end</a><noscript><p>No scripts</p></noscript></main>\
    <script>document.title = 'hit'</script></html>";

const SCRIPT: &str =
    "document.documentElement.dataset.ran = 'yes'; fetch('/one'); fetch('/two?x=rememberedWord');";

async fn server() -> (ScriptedHttp, String) {
    let text = |kind, text: &str| ScriptedAnswer::Text(200, kind, text.to_owned());
    let answers = [
        text("text/html", PAGE),
        text("text/javascript", SCRIPT),
        ScriptedAnswer::Hang,
        ScriptedAnswer::Hang,
    ];
    let server = ScriptedHttp::start(answers).await;
    let origin = format!("http://cts.test:{}", server.address().port());
    (server, origin)
}

#[tokio::test]
async fn a_browser_reports_messages_requests_and_what_it_remembers() {
    let (server, origin) = server().await;
    let browsers = Browsers::start().await;
    let dark = Look {
        dark: true,
        width: 320,
        ..Look::default()
    };
    let browser = browsers.open(&origin, &dark).await;
    browser.go("/ui/?from=typedWord").await;
    browser.until_text("h1", "Hello").await;
    browser
        .until("document.documentElement.dataset.ran === 'yes'")
        .await;
    browser
        .until("matchMedia('(prefers-color-scheme: dark)').matches && innerWidth === 320")
        .await;
    browser.fill("#name", "text").await;
    browser.click_text("end").await;
    browser.until_path("/ui/?from=typedWord#end").await;
    browser.back().await;
    browser.until_path("/ui/?from=typedWord").await;
    assert_eq!(browser.texts("h1").await, ["Hello"]);
    assert!(browser.has("#name").await && !browser.has("#other").await);
    browser.assert_accessible("page").await;
    browser.assert_fits("page").await;
    // Requests count as open at once after a second.
    browser.until("performance.now() > 3000").await;
    let visit = browser
        .close_after(&["violates the following Content Security Policy"])
        .await;
    assert_eq!(visit.to("/ui/").len(), 1, "{visit:?}");
    assert_eq!(
        visit.to("/two")[0].initiator.as_deref(),
        Some(&*origin),
        "{visit:?}"
    );
    assert_eq!(visit.most_at_once("/one"), 1);
    assert!(!visit.files_with("typedWord").await.is_empty());
    assert!(visit.files_with("neverWritten").await.is_empty());
    drop(server);
}

#[tokio::test]
async fn a_browser_without_scripts_runs_none_of_the_page() {
    let (_server, origin) = server().await;
    let browsers = Browsers::start().await;
    let browser = browsers.open(&origin, &Look::without_scripts()).await;
    browser.go("/ui/").await;
    browser.until_text("main", "No scripts").await;
    assert!(!browser.has("html[data-ran]").await);
    browser.close().await;
}
