//! Ten thousand tasks.

use std::fmt::Write as _;

use cts_page_tests::{Browsers, Look};
use cts_tests::Site;
use reqwest::Method;
use serde_json::json;
use thirtyfour::Key;

use crate::scene::{MODULE, Scene};

const TASKS: usize = 10_000;

/// Tasks that are disabled, so that none of them runs.
fn tasks() -> String {
    let mut tasks = String::new();
    for number in 0..TASKS {
        write!(
            tasks,
            "task {{\n  name = \"task-{number:05}\"\n  module = \"{MODULE}\"\n  enabled = false\n  \
             condition \"services\" {{ names = [\"web\"] }}\n}}\n"
        )
        .unwrap();
    }
    tasks
}

/// The place of the active cell among all cells, if its group has the focus.
const FOCUSED: &str = "[...document.querySelectorAll('.grid .cell')].indexOf(document.querySelector('.grid .cells:focus > [data-active]'))";

#[tokio::test]
async fn ten_thousand_tasks_are_a_grid_with_one_tab_stop_and_live_groups() {
    let scene = Scene::start(Site::new(), &tasks()).await;
    let browsers = Browsers::start().await;
    let browser = browsers.open(&scene.origin(), &Look::default()).await;
    browser.go("/ui/tasks").await;
    browser
        .until(&format!(
            "document.querySelectorAll('.grid .cell').length === {TASKS}"
        ))
        .await;
    browser
        .until("document.querySelectorAll('.grid [tabindex=\"0\"]').length === 1")
        .await;
    browser
        .run(
            "document.querySelector('.grid [tabindex=\"0\"]').focus()",
            &[],
        )
        .await;
    for (key, place) in [
        (Key::Right, 1),
        (Key::Right, 2),
        (Key::Down, 12),
        (Key::Left, 11),
        (Key::Up, 1),
        (Key::End, TASKS - 1),
        (Key::Home, 0),
        (Key::Down, 10),
    ] {
        browser.press(String::from(key.value())).await;
        browser.until(&format!("{FOCUSED} === {place}")).await;
        // Names come with the group.
        browser
            .until_text("output.pointed", &format!("task-{place:05}"))
            .await;
    }
    assert_eq!(
        browser
            .run(
                "return document.querySelectorAll('.grid [tabindex=\"0\"]').length",
                &[]
            )
            .await,
        1
    );
    browser.assert_accessible("grid of 10,000").await;

    // A change of one task comes into its group, and into no other one.
    let cell = "document.querySelectorAll('.grid .cell')[150].className";
    let before = browser.run(&format!("return {cell}"), &[]).await;
    browser
        .run(
            "document.querySelectorAll('.grid .cell')[150].scrollIntoView()",
            &[],
        )
        .await;
    let body = json!({"enabled": true});
    let api = &scene.instance.api;
    let (status, answer) = api
        .send(Method::PATCH, "/v1/tasks/task-00150", Some(body))
        .await;
    assert_eq!(status, 200, "{answer}");
    browser.until(&format!("{cell} !== {before}")).await;
    browser.until(&format!("{FOCUSED} === 10")).await;

    browser.press(String::from(Key::Enter.value())).await;
    browser.until_path("/ui/tasks/task-00010").await;
    browser.back().await;
    browser
        .until(&format!(
            "document.querySelectorAll('.grid .cell').length === {TASKS}"
        ))
        .await;

    // As a list: pages of 200, and a search.
    browser.go("/ui/tasks?view=list&page=50").await;
    browser.until_text("main tbody", "task-09999").await;
    assert_eq!(
        browser
            .run(
                "return document.querySelectorAll('main tbody tr').length",
                &[]
            )
            .await,
        200
    );
    browser.go("/ui/tasks?view=list&search=task-0123").await;
    browser
        .until("document.querySelectorAll('main tbody tr').length === 10")
        .await;
    browser.go("/ui/").await;
    browser.until_text("main", "9999").await;
    let visit = browser.close().await;
    let fragments = visit
        .requests
        .iter()
        .filter(|sent| sent.url.contains("fragment=grid-"));
    let groups: std::collections::BTreeSet<_> = fragments
        .filter_map(|sent| sent.url.split("fragment=").nth(1)?.split('&').next())
        .collect();
    assert!(groups.contains("grid-1") && groups.len() < 20, "{groups:?}");
    scene.instance.stop().await;
}
