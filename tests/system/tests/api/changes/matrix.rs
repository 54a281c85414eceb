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

/// Whether the task is enabled, the request, whether it is enabled afterwards, the event, and the answer. The name of the
/// task is that of its row.
const ROWS: &str = "
off-on          | off | on          | on  |       | nothing
off-on-now      | off | on now      | on  | event | nothing
off-on-inspect  | off | on inspect  | off |       | changes
on-on           | on  | on          | on  |       | nothing
on-on-now       | on  | on now      | on  | event | nothing
on-on-inspect   | on  | on inspect  | on  |       | no changes
on-off          | on  | off         | off |       | nothing
on-off-now      | on  | off now     | off |       | nothing
on-off-inspect  | on  | off inspect | on  |       | empty plan
off-off         | off | off         | off |       | nothing
off-off-now     | off | off now     | off |       | nothing
off-off-inspect | off | off inspect | off |       | empty plan
";

fn rows() -> Vec<Row> {
    let rows = ROWS.trim().lines().map(|line| {
        let columns: Vec<&'static str> = line.split('|').map(str::trim).collect();
        let [name, now, request, stored, event, answer] = columns[..] else {
            panic!("{line}");
        };
        let (wanted, mode) = request.split_once(' ').unwrap_or((request, ""));
        Row {
            name,
            now: now == "on",
            wanted: wanted == "on",
            query: match mode {
                "now" => "?run=now",
                "inspect" => "?run=inspect",
                _ => "",
            },
            stored: stored == "on",
            event: event == "event",
            answer: match answer {
                "nothing" => Answer::Nothing,
                "empty plan" => Answer::EmptyPlan,
                _ => Answer::Plan {
                    changes: answer == "changes",
                },
            },
        }
    });
    rows.collect()
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
