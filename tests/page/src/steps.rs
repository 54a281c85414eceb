//! What a person does with a page, and what a person sees.
//!
//! Elements are named by selectors of CSS. A step waits until its element is there.

use cts_testkit::eventually;
use cts_tests::{DEADLINE, met};
use serde_json::{Value, json};
use thirtyfour::error::WebDriverResult;
use thirtyfour::{By, Cookie, TypingData, WebElement};

use crate::Browser;

/// The values that selectors find, read by one script.
const TEXTS: &str =
    "return [...document.querySelectorAll(arguments[0])].map(element => element.innerText.trim())";

impl Browser {
    /// The origin of the page.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Opens the page at a path below the origin, as if it had been typed into the bar of addresses.
    pub async fn go(&self, path: &str) {
        self.open_address(&format!("{}{path}", self.origin)).await;
    }

    /// Opens an address of any origin.
    pub async fn open_address(&self, address: &str) {
        self.driver().goto(address).await.unwrap();
    }

    /// Path, query and fragment of the address.
    pub async fn path(&self) -> String {
        let address = self.driver().current_url().await.unwrap();
        let address = address.as_str();
        let path = address.strip_prefix(&self.origin);
        path.unwrap_or(address).to_owned()
    }

    /// Waits until the address has this path, query and fragment.
    pub async fn until_path(&self, path: &str) {
        eventually(DEADLINE, async || {
            let now = self.path().await;
            met(now == path, format!("{now}, not {path}"))
        })
        .await;
    }

    /// Runs a script and returns its value. A page whose scripts are off runs this one, too.
    pub async fn run(&self, script: &str, arguments: &[Value]) -> Value {
        let returned = self.driver().execute(script, arguments).await;
        returned.unwrap().json().clone()
    }

    /// Waits until the modules of the page run, and marks its document: a step before that may load a whole page.
    pub async fn mark(&self) {
        let script = "const { src } = document.querySelector('script[type=module]'); \
            const modules = ['morph', 'form', 'log', 'keys'].map(name => import(new URL(`${name}.js`, src))); \
            return Promise.all(modules).then(() => { window.isSameDocument = true; });";
        self.run(script, &[]).await;
    }

    /// Waits until the document is the marked one.
    pub async fn until_marked(&self) {
        self.until("window.isSameDocument").await;
    }

    /// Waits until an expression of JavaScript is true.
    pub async fn until(&self, expression: &str) {
        let script = format!("return Boolean({expression})");
        eventually(DEADLINE, async || {
            let is_met = self.driver().execute(&*script, []).await;
            let is_met = is_met.map_err(|error| error.to_string())?;
            met(*is_met.json() == true, expression.to_owned())
        })
        .await;
    }

    /// Waits until there is such an element.
    pub async fn until_there(&self, selector: &str) {
        self.until_text(selector, "").await;
    }

    /// The texts of all elements, as they are seen.
    pub async fn texts(&self, selector: &str) -> Vec<String> {
        let texts = self.run(TEXTS, &[json!(selector)]).await;
        serde_json::from_value(texts).unwrap()
    }

    /// Waits until the text of one of the elements has this part, and returns that text.
    pub async fn until_text(&self, selector: &str, part: &str) -> String {
        eventually(DEADLINE, async || {
            let texts = self.driver().execute(TEXTS, [json!(selector)]).await;
            let texts = texts.and_then(|texts| texts.convert::<Vec<String>>());
            let texts = texts.map_err(|error| error.to_string())?;
            let found = texts.iter().find(|text| text.contains(part)).cloned();
            found.ok_or_else(|| format!("no {part:?} in {selector}: {texts:?}"))
        })
        .await
    }

    /// Whether there is such an element.
    pub async fn has(&self, selector: &str) -> bool {
        !self.texts(selector).await.is_empty()
    }

    /// Clicks the first such element.
    pub async fn click(&self, selector: &str) {
        self.step(selector, async |element| element.click().await)
            .await;
    }

    /// Clicks the first link, button or summary with this text.
    pub async fn click_text(&self, text: &str) {
        let path =
            format!("//*[self::a or self::button or self::summary][normalize-space()=\"{text}\"]");
        eventually(DEADLINE, async || {
            let element = self.driver().find(By::XPath(&*path)).await;
            let clicked = match element {
                Ok(element) => element.click().await,
                Err(error) => Err(error),
            };
            clicked.map_err(|error| error.to_string())
        })
        .await;
    }

    /// Types into the first such field, after its text was removed.
    pub async fn fill(&self, selector: &str, text: &str) {
        self.step(selector, async |element| {
            element.clear().await?;
            element.send_keys(text).await
        })
        .await;
    }

    /// Presses keys where the focus is.
    pub async fn press(&self, keys: impl Into<TypingData>) {
        let actions = self.driver().action_chain();
        actions.send_keys(keys).perform().await.unwrap();
    }

    /// The cookies of the page that is shown.
    pub async fn cookies(&self) -> Vec<Cookie> {
        self.driver().get_all_cookies().await.unwrap()
    }

    /// Goes back in the history.
    pub async fn back(&self) {
        self.driver().back().await.unwrap();
    }

    /// Goes forward in the history.
    pub async fn forward(&self) {
        self.driver().forward().await.unwrap();
    }

    /// Does something with the first such element, again while it is missing or being replaced.
    async fn step(&self, selector: &str, act: impl AsyncFn(WebElement) -> WebDriverResult<()>) {
        eventually(DEADLINE, async || {
            let element = self.driver().find(By::Css(selector)).await;
            let done = match element {
                Ok(element) => act(element).await,
                Err(error) => Err(error),
            };
            done.map_err(|error| format!("{selector}: {error}"))
        })
        .await;
    }
}
