//! A real Chromium at the page of cts, led through its driver, for the tests in `tests`.
//!
//! Each [`Browser`] has a fresh profile. When it is closed, the test fails if the console has an error or a warning
//! (which includes reports of the content security policy), if a script of the page sent a request to another origin,
//! or if any request went to the REST API.
//!
//! This package is a workspace of its own, because thirtyfour changes the order of JSON objects in all that is compiled
//! with it, and `String + &String` does not compile with it in reach.
#![warn(missing_docs)]
#![expect(
    clippy::unwrap_used,
    reason = "this is test code: what cannot go on must fail the test, with a clear text"
)]

mod accessibility;
mod look;
mod pictures;
mod steps;
mod tabs;
mod visit;

use cts_testkit::{Chromedriver, KeyPairFiles};
use tempfile::TempDir;
use thirtyfour::{BrowserLogEntry, WebDriver};

pub use crate::look::Look;
pub use crate::visit::{Sent, Visit};

/// The driver of Chromium. It ends with its browsers when this is dropped, so declare it before them.
#[derive(Debug)]
pub struct Browsers {
    driver: Chromedriver,
}

/// A browser for the page of one origin. It is to be closed, or its test fails.
#[derive(Debug)]
pub struct Browser {
    /// `None` once the browser is closed.
    open: Option<Open>,
    origin: String,
    issuer: Option<String>,
    first_script: &'static str,
}

#[derive(Debug)]
struct Open {
    driver: WebDriver,
    /// Profile and log of requests.
    directory: TempDir,
}

impl Browsers {
    /// Starts the driver.
    pub async fn start() -> Self {
        Self {
            driver: Chromedriver::start().await,
        }
    }

    /// Gives the certificate of a person to all browsers that are opened from now on.
    pub async fn import_certificate(&self, pair: &KeyPairFiles) {
        self.driver.import_certificate(pair).await;
    }

    /// Opens a browser for the page at this origin, such as `http://cts.test:8558`, whose path is `/ui/`.
    pub async fn open(&self, origin: &str, look: &Look) -> Browser {
        let directory = TempDir::new().unwrap();
        let capabilities = look.capabilities(directory.path());
        let driver = WebDriver::new(self.driver.address(), capabilities).await;
        let driver = driver.unwrap();
        let browser = Browser {
            open: Some(Open { driver, directory }),
            origin: origin.to_owned(),
            issuer: look.issuer.clone(),
            first_script: look.first_script,
        };
        browser.run_first().await;
        browser.set_size(look.width, look.height).await;
        browser.set_dark(look.dark).await;
        browser
    }
}

impl Browser {
    /// Closes the browser and checks its messages and requests.
    pub async fn close(self) -> Visit {
        self.close_after(&[]).await
    }

    /// Closes the browser like [`Self::close`]. Each of the `caused` texts is part of a message that the test has
    /// caused, such as that of a refused request.
    pub async fn close_after(self, caused: &[&str]) -> Visit {
        let (messages, visit) = self.end(caused).await;
        for part in caused {
            let is_there = messages
                .iter()
                .any(|message| message.message.contains(part));
            assert!(is_there, "the console has no {part:?}: {messages:#?}");
        }
        visit
    }

    /// Closes the browser like [`Self::close`], after something that may have led to messages with these parts.
    pub async fn close_tolerating(self, possible: &[&str]) -> Visit {
        self.end(possible).await.1
    }

    /// Ends the browser, and returns its messages. Errors and warnings without one of the `known` parts fail the test.
    async fn end(mut self, known: &[&str]) -> (Vec<BrowserLogEntry>, Visit) {
        let Open { driver, directory } = self.open.take().unwrap();
        let messages = driver.browser_log().await.unwrap();
        driver.quit().await.unwrap();
        let visit = Visit::read(directory, &self.origin);
        visit.assert_inside(self.issuer.as_deref());
        let is_bad = |message: &&BrowserLogEntry| {
            matches!(&*message.level, "SEVERE" | "WARNING")
                && !known.iter().any(|part| message.message.contains(part))
        };
        let bad: Vec<_> = messages.iter().filter(is_bad).collect();
        assert!(bad.is_empty(), "the console has {bad:#?}");
        (messages, visit)
    }

    fn driver(&self) -> &WebDriver {
        &self.open.as_ref().unwrap().driver
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        // Its end would block; the process ends with the driver.
        let _ended = open.driver.leak();
        assert!(
            std::thread::panicking(),
            "a browser was not closed, so nothing has checked its messages"
        );
    }
}
