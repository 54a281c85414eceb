use serde_json::{Value, json};

use super::*;
use crate::testing::{FakeApi, HOSTILE};

const PAGE: &str = "/v1/overview/tasks?page=1";

/// Tasks with the numbers from `first`, of which each tenth is in `state`.
fn page(first: usize, count: usize, state: &str) -> Value {
    let tasks = (first..first + count).map(|number| {
        let name = if number % 10 == 0 { state } else { "successful" };
        json!({ "name": format!("task-{number:05}"), "state": { "name": name, "since": "2026-02-03T10:15:30Z" } })
    });
    json!({ "total": 413, "pages": 3, "tasks": tasks.collect::<Vec<_>>() })
}

fn grid(tasks: usize) -> Value {
    json!({ "grid": "ssssbsrsss".repeat(tasks / 10) })
}

#[tokio::test]
async fn ten_thousand_tasks_are_groups_of_a_hundred_squares() {
    let api = FakeApi::new(&[(GRID, grid(10_000))]);
    let page = api.page_of_fragments("tasks", "").await;
    let count = |part: &str| page.matches(part).count();
    assert_eq!(count("data-live=\"grid:"), 101);
    assert_eq!(count("<a class=\"cell state-"), 10_000);
    assert_eq!(count("<a class=\"cell state-blocked\">"), 1_000);
    assert_eq!(count("data-names="), 100);
    assert!(page.len() < 500_000, "{}", page.len());
    api.paths();
    let _page = api.page("tasks", "").await;
    assert_eq!(api.paths(), [GRID]);
}

#[tokio::test]
async fn a_group_leads_to_its_names_and_to_its_page() {
    let api = FakeApi::new(&[(GRID, json!({ "grid": "s".repeat(300) + "bb?" }))]);
    insta::assert_snapshot!(api.fragment("tasks", "view=grid", "grid-3").await);
    let behind = api.fragment("tasks", "view=grid", "grid-4").await;
    assert_eq!(
        behind,
        "<section id=\"grid-4\" class=\"group\" data-live=\"grid:4\"></section>"
    );
    let far = api
        .fragment("tasks", "view=grid", &format!("grid-{}", usize::MAX))
        .await;
    assert!(far.ends_with("></section>"), "{far}");
}

#[tokio::test]
async fn names_of_a_group_are_half_of_a_page() {
    let second = "/v1/overview/tasks?page=2";
    let api = FakeApi::new(&[(second, page(200, 200, "errored"))]);
    for (group, first) in [(2, "task-00200"), (3, "task-00300")] {
        let names = api
            .fragment("tasks", &format!("view=names&group={group}"), "names")
            .await;
        assert!(
            names.contains(&format!(
                "data-live=\"grid:{group}\"><ol start=\"{group}01\">"
            )),
            "{names}"
        );
        assert_eq!(names.matches("<li>").count(), 100);
        let name = names.split("<bdi>").nth(1).unwrap().split('<').next();
        assert_eq!(name, Some(first));
    }
    let page = api.page_of_fragments("tasks", "view=names&group=2").await;
    assert!(!page.contains("id=\"grid\""));
}

#[tokio::test]
async fn few_tasks_are_a_list_unless_the_address_has_a_view() {
    let api = FakeApi::new(&[(GRID, grid(200)), (PAGE, page(0, 2, "errored"))]);
    let list = api.page_of_fragments("tasks", "").await;
    assert!(list.contains("id=\"list\"") && !list.contains("id=\"grid\""));
    assert!(list.contains(" aria-current=\"true\">List</a>"), "{list}");
    let squares = api.page_of_fragments("tasks", "view=grid").await;
    assert!(squares.contains("id=\"grid\"") && !squares.contains("id=\"list\""));
    assert!(
        squares.contains(" aria-current=\"true\">Grid</a>"),
        "{squares}"
    );
    // Tasks that come later have an empty group.
    for (tasks, groups) in [(0, 1), (90, 2), (200, 3), (210, 4)] {
        let api = FakeApi::new(&[(GRID, grid(tasks))]);
        let page = api.page("tasks", "view=grid").await;
        assert_eq!(page.matches("data-live=\"grid:").count(), groups, "{tasks}");
    }
    let many = FakeApi::new(&[(GRID, grid(210)), (PAGE, page(0, 2, "errored"))]);
    assert!(many.page("tasks", "").await.contains("id=\"grid\""));
    assert!(many.page("tasks", "page=1").await.contains("id=\"list\""));
}

#[tokio::test]
async fn a_list_has_its_whole_state_in_each_link() {
    let path = "/v1/overview/tasks?search=task&state=errored&sort=since&page=2";
    let api = FakeApi::new(&[(GRID, grid(10)), (path, page(0, 1, "errored"))]);
    let query = "search=task&state=errored&sort=since&page=2&done=x";
    let html = api.page_of_fragments("tasks", query).await;
    let links = html.split("href=\"/ui/tasks?").skip(1);
    let links: Vec<_> = links
        .map(|link| link.split('"').next().unwrap().replace("&#38;", "&"))
        .collect();
    insta::assert_snapshot!(links.join("\n"));
    assert!(
        html.contains("aria-sort=\"descending\"><a href=\"/ui/tasks?search=task"),
        "{html}"
    );
    assert!(
        html.contains("<input type=\"hidden\" name=\"sort\" value=\"since\">"),
        "{html}"
    );
}

#[tokio::test]
async fn states_are_counted_and_chosen() {
    let api = FakeApi::new(&[(GRID, grid(20))]);
    insta::assert_snapshot!(
        api.fragment("tasks", "state=running,errored", "facets")
            .await
    );
}

#[tokio::test]
async fn texts_of_others_stay_text() {
    let answer = json!({ "total": 1, "pages": 1, "tasks": [
        { "name": HOSTILE, "state": { "name": "errored", "text": HOSTILE, "run_id": HOSTILE, "worker": HOSTILE } },
        { "name": "without a state" },
    ] });
    let api = FakeApi::new(&[(GRID, json!({ "grid": HOSTILE })), (PAGE, answer)]);
    let page = api.page_of_fragments("tasks", "view=list").await;
    assert!(page.contains("&lt;script&gt;"), "{page}");
    let _squares = api.page_of_fragments("tasks", "view=grid").await;
    let query =
        ["view", "search", "state", "sort"].map(|name| format!("{name}=%22%3E%3Cscript%3E&"));
    let query = query.concat() + "page=-1&group=x";
    let page = api.page_of_fragments("tasks", &query).await;
    assert!(
        page.contains("value=\"&#34;&#62;&#60;script&#62;\""),
        "{page}"
    );
}
