//! Fragments of screens, as a script would fetch them.

use cts_testkit::eventually;
use cts_tests::{DEADLINE, met};
use regex::Regex;
use reqwest::{Client, Response, StatusCode};

use crate::scene::client;
use crate::shown::{Shown, shown};

async fn get(client: &Client, shown: &Shown, path: &str) -> Response {
    let address = format!("{}{path}", shown.origin());
    client.get(address).send().await.unwrap()
}

/// The address of a fragment: that of its screen with one more member.
fn fragment_of(path: &str, id: &str) -> String {
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}fragment={id}")
}

#[tokio::test]
async fn each_fragment_is_its_part_of_the_screen() {
    let shown = shown().await;
    let client = client();
    // Each answer makes keys for its forms.
    let made = Regex::new(r#"name="key" value="[^"]+""#).unwrap();
    let section = Regex::new(r#"<section id="([^"]+)"[^>]* data-live=""#).unwrap();
    let mut count = 0;
    for screen in shown.screens() {
        let page = get(&client, &shown, &screen.path)
            .await
            .text()
            .await
            .unwrap();
        let ids = section
            .captures_iter(&page)
            .map(|found| found[1].to_owned());
        let ids: Vec<String> = ids.collect();
        assert!(!ids.is_empty() || screen.name == "audit", "{}", screen.name);
        for id in ids {
            let path = fragment_of(&screen.path, &id);
            // The data may change between the two requests.
            eventually(DEADLINE, async || {
                let page = get(&client, &shown, &screen.path).await.text().await;
                let fragment = get(&client, &shown, &path).await.text().await.unwrap();
                let page = page.unwrap();
                let [page, part] = [&page, &fragment].map(|html| made.replace_all(html, ""));
                let is_part = !part.is_empty() && page.contains(&*part);
                met(is_part, format!("{path}: {fragment}"))
            })
            .await;
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[tokio::test]
async fn an_unchanged_fragment_is_not_sent_again() {
    let shown = shown().await;
    let client = client();
    let path = fragment_of("/ui/tasks/off", "definition");
    let first = get(&client, &shown, &path).await;
    assert_eq!(first.status(), StatusCode::OK);
    assert_eq!(first.headers()["cts-fragment"], "1");
    let tag = first.headers()["etag"].clone();
    let address = format!("{}{path}", shown.origin());
    let again = client.get(address).header("if-none-match", tag);
    assert_eq!(
        again.send().await.unwrap().status(),
        StatusCode::NOT_MODIFIED
    );
    let unknown = get(&client, &shown, &fragment_of("/ui/tasks/off", "nothing")).await;
    assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
}
