//! The effect matrix of docs/rest.md#updating-a-task, row by row, but for one mended accident: disabling with
//! `run=now` stores no event.

use cts_tests::{Site, task};
use serde_json::{Value, json};

use crate::api::scene::Scene;

/// One row of the matrix.
struct Row {
    name: &'static str,
    now: bool,
    wanted: bool,
    query: &'static str,
    stored: bool,
    /// Whether an event is stored.
    event: bool,
    answer: Answer,
}

enum Answer {
    Nothing,
    Plan { changes: bool },
    EmptyPlan,
}

const fn row(
    name: &'static str,
    (now, wanted, query): (bool, bool, &'static str),
    stored: bool,
    event: bool,
    answer: Answer,
) -> Row {
    Row {
        name,
        now,
        wanted,
        query,
        stored,
        event,
        answer,
    }
}

const NOW: &str = "?run=now";
const INSPECT: &str = "?run=inspect";

fn rows() -> [Row; 12] {
    use Answer::{EmptyPlan, Nothing, Plan};
    [
        row("off-on", (false, true, ""), true, false, Nothing),
        row("off-on-now", (false, true, NOW), true, true, Nothing),
        row(
            "off-on-inspect",
            (false, true, INSPECT),
            false,
            false,
            Plan { changes: true },
        ),
        row("on-on", (true, true, ""), true, false, Nothing),
        row("on-on-now", (true, true, NOW), true, true, Nothing),
        row(
            "on-on-inspect",
            (true, true, INSPECT),
            true,
            false,
            Plan { changes: false },
        ),
        row("on-off", (true, false, ""), false, false, Nothing),
        row("on-off-now", (true, false, NOW), false, false, Nothing),
        row(
            "on-off-inspect",
            (true, false, INSPECT),
            true,
            false,
            EmptyPlan,
        ),
        row("off-off", (false, false, ""), false, false, Nothing),
        row("off-off-now", (false, false, NOW), false, false, Nothing),
        row(
            "off-off-inspect",
            (false, false, INSPECT),
            false,
            false,
            EmptyPlan,
        ),
    ]
}

fn check_answer(row: &Row, body: &Value) {
    match row.answer {
        Answer::Nothing => assert_eq!(*body, json!({}), "{}", row.name),
        Answer::EmptyPlan => {
            let nothing = json!({"inspect": {"changes_present": false, "plan": ""}});
            assert_eq!(*body, nothing, "{}", row.name);
        }
        Answer::Plan { changes } => {
            assert_eq!(
                body["inspect"]["changes_present"], changes,
                "{}: {body}",
                row.name
            );
            let plan = body["inspect"]["plan"].as_str().unwrap();
            let part = if changes {
                "Plan: 1 to add"
            } else {
                "No changes"
            };
            assert!(plan.contains(part), "{}: {plan}", row.name);
            let members = body["inspect"].as_object().unwrap();
            assert_eq!(members.len(), 2, "no url: {body}");
        }
    }
}

#[tokio::test]
async fn each_row_has_its_effect() {
    let site = Site::new();
    let mut tasks = String::new();
    for row in rows() {
        site.write_steps(row.name);
        let enabled = format!("enabled = {}", row.now);
        let module = format!("./modules/{}", row.name);
        tasks += &task(row.name, &module, &["web"], &enabled);
    }
    let scene = Scene::of_site(site, &tasks).await;
    let api = &scene.instance.api;
    for row in rows().iter().filter(|row| row.now) {
        api.wait_for_events(row.name, 1).await;
    }

    for row in rows() {
        let before = api.events(row.name).await.len();
        let answer = scene.switch(row.name, row.wanted, row.query).await;
        check_answer(&row, &answer.expect(200));
        let status = api.task_status(row.name).await;
        assert_eq!(status["enabled"], row.stored, "{}", row.name);
        let shown = scene.ask("GET", &format!("/v1/tasks/{}", row.name)).await;
        assert_eq!(
            shown.expect(200)["task"]["enabled"],
            row.stored,
            "{}",
            row.name
        );
        let events = api.events(row.name).await;
        assert_eq!(
            events.len(),
            before + usize::from(row.event),
            "{}",
            row.name
        );
        assert!(events.iter().all(|event| event["success"] == true));
        let applied = usize::from(row.now || row.event);
        assert_eq!(scene.steps(row.name), applied, "{}", row.name);
    }
    triggers_reach_the_enabled(&scene).await;
    scene.instance.stop().await;
}

/// A change runs the tasks that are enabled now, and no others.
async fn triggers_reach_the_enabled(scene: &Scene) {
    let mut before = Vec::new();
    for row in rows() {
        before.push(scene.instance.api.events(row.name).await.len());
    }
    scene.register("web", "web-2").await;
    for row in rows().iter().filter(|row| row.stored) {
        scene
            .site
            .wait_for_step(row.name, "end", "web-1,web-2")
            .await;
    }
    for (row, before) in rows().iter().zip(before) {
        if row.stored {
            scene
                .instance
                .api
                .wait_for_events(row.name, before + 1)
                .await;
        } else {
            let events = scene.instance.api.events(row.name).await;
            assert_eq!(events.len(), before, "{}", row.name);
            assert_eq!(scene.steps(row.name), usize::from(row.now), "{}", row.name);
        }
    }
}
