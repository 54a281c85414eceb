//! Tabs of a browser, and the way in which they show pages.

use cts_testkit::eventually;
use cts_tests::DEADLINE;
use serde_json::{Value, json};
use thirtyfour::WindowHandle;
use thirtyfour::cdp::Cdp;

use crate::Browser;

impl Browser {
    /// Opens a tab and shows it. Colours and size are those of a fresh browser.
    pub async fn new_tab(&self) -> WindowHandle {
        let tab = self.driver().new_tab().await.unwrap();
        self.show_tab(&tab).await;
        self.run_first().await;
        tab
    }

    /// Lets the first script run in each page of this tab.
    pub(crate) async fn run_first(&self) {
        if !self.first_script.is_empty() {
            let source = json!({"source": self.first_script});
            self.devtools("Page.addScriptToEvaluateOnNewDocument", source)
                .await;
        }
    }

    /// Closes the tab that is shown, and shows another one.
    pub async fn close_tab(&self, next: &WindowHandle) {
        self.driver().close_window().await.unwrap();
        self.show_tab(next).await;
    }

    /// The tab that is shown.
    pub async fn tab(&self) -> WindowHandle {
        self.driver().window().await.unwrap()
    }

    /// Waits for a tab that the page has opened: the one that is not `known`.
    pub async fn tab_besides(&self, known: &[&WindowHandle]) -> WindowHandle {
        eventually(DEADLINE, async || {
            let tabs = self.driver().windows().await.unwrap();
            let mut new = tabs.into_iter().filter(|tab| !known.contains(&tab));
            new.next().ok_or("no page has opened a tab")
        })
        .await
    }

    /// Shows a tab; the others are hidden then.
    pub async fn show_tab(&self, tab: &WindowHandle) {
        let switched = self.driver().switch_to_window(tab.clone()).await;
        switched.unwrap();
        self.devtools("Page.bringToFront", json!({})).await;
    }

    /// Lets the person prefer dark or light colours, in this tab.
    pub async fn set_dark(&self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        self.set_media(&[("prefers-color-scheme", value)]).await;
    }

    /// Lets the system have these features of media, in this tab, such as `forced-colors` of `active`.
    pub async fn set_media(&self, features: &[(&str, &str)]) {
        let features = features.iter();
        let features: Vec<_> = features
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
        self.devtools("Emulation.setEmulatedMedia", json!({"features": features}))
            .await;
    }

    /// Sets the width and the height of the page of this tab, in CSS pixels.
    pub async fn set_size(&self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", size)
            .await;
    }

    async fn devtools(&self, method: &str, parameters: Value) {
        let protocol: Cdp = self.driver().cdp();
        protocol.send_raw(method, parameters).await.unwrap();
    }
}
