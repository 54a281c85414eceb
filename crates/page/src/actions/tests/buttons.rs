//! Buttons by the role of the viewer, and by the state of their task, run, worker or brake.

use cts_core::callers::Role;
use cts_proto::cluster::v1::{Brake, OverviewWorker, WorkerCondition};
use cts_proto::run::v1::{Run, RunStatus};
use serde_json::{Value, json};
use uuid::Uuid;

use super::fake::{Fake, RUN, context, site, viewer};
use crate::action::{Button, lacks_keys, with_new_keys};
use crate::actions::{ACTIONS, Key, of_brake, of_run, of_task, of_worker};

/// Labels of the buttons that can be pressed, and of those that are greyed.
fn labels(html: &str) -> (Vec<String>, Vec<String>) {
    let texts = |open: &str, close: &str| {
        let parts = html.split(open).skip(1);
        let texts = parts.filter_map(|part| part.split_once('>')?.1.split_once(close));
        texts.map(|(label, _)| label.to_owned()).collect::<Vec<_>>()
    };
    let pressed = [texts("<button", "</button>"), texts("<a ", "</a>")].concat();
    (pressed, texts("<span class=\"greyed\"", "</span>"))
}

#[tokio::test]
async fn each_button_is_greyed_without_the_right_of_its_call() {
    use Key::{Approve, ApproveSet, DecideState, Delete, PlanDestruction, Reject, Reopen};
    let (api, site) = (Fake::new(&[]), site());
    for role in Role::ALL {
        let viewer = viewer(role);
        let context = context(&site, &viewer, &api);
        for (key, action) in ACTIONS {
            let (operates, approves) = match role {
                Role::Read => (false, false),
                Role::Approve => (false, true),
                Role::Operate => (true, false),
                Role::OperateApprove | Role::Admin => (true, true),
            };
            let expected = match key {
                DecideState | Delete | PlanDestruction => role == Role::Admin,
                Approve | ApproveSet | Reject | Reopen => approves,
                _ => operates,
            };
            let html = Button::new(action, "web", &context).markup().0;
            let greyed = format!(
                "title=\"needs the role {}\">{}</span>",
                action.role, action.label
            );
            assert_eq!(
                html.contains(&greyed),
                !expected,
                "{key:?} for {role}: {html}"
            );
            assert_eq!(
                html.contains("href="),
                expected && action.is_confirmed,
                "{html}"
            );
            assert_eq!(
                html.contains("<form"),
                expected && !action.is_confirmed,
                "{html}"
            );
        }
    }
}

#[test]
fn actions_about_everything_need_a_credential_for_all_tasks() {
    let mut limited = viewer(Role::Admin);
    limited.all_tasks = false;
    let refused = ACTIONS
        .iter()
        .filter(|(_, action)| action.missing(&limited).is_some());
    let greyed: Vec<_> = refused.map(|(key, _)| *key).collect();
    assert_eq!(greyed, [Key::ReleaseBrake, Key::Drain]);
}

fn task(enabled: bool, explained: &Value, more: &[(&str, u16, Value)]) -> Fake {
    let mut answers = vec![
        (
            "GET /v1/tasks/web",
            200,
            json!({"task": {"name": "web", "enabled": enabled}}),
        ),
        (
            "GET /v1/tasks/web/explain",
            200,
            json!({"explanation": explained}),
        ),
    ];
    answers.extend(more.iter().cloned());
    Fake::new(&answers)
}

async fn of_web(api: &Fake, role: Role) -> String {
    let (site, viewer) = (site(), viewer(role));
    of_task("web", &context(&site, &viewer, api))
        .await
        .unwrap()
        .0
}

#[tokio::test]
async fn a_task_has_the_actions_of_its_state() {
    let idle = json!({"task_name": "web", "last_run": {"id": RUN, "status": "succeeded"}});
    let html = of_web(&task(true, &idle, &[]), Role::Admin).await;
    let (pressed, greyed) = labels(&html);
    assert_eq!(pressed, ["Run now", "Disable", "Inspect", "Delete"]);
    assert_eq!(greyed, [""; 0]);
    // One for the run, and one for the inspection.
    assert!(lacks_keys(&html), "{html}");
    let key = Uuid::from_u128(7);
    let filled = with_new_keys(&html, || key);
    let field = format!("name=\"key\" value=\"{key}\"");
    assert_eq!(filled.matches(&field).count(), 2);
    assert_eq!(with_new_keys("<p>key</p>", || key), "<p>key</p>");

    let disabled = of_web(&task(false, &idle, &[]), Role::Operate).await;
    let expected = ["Enable", "Inspect"].map(str::to_owned).to_vec();
    let greyed = ["Run now", "Delete"].map(str::to_owned).to_vec();
    assert_eq!(labels(&disabled), (expected, greyed));

    let running = json!({"current_run": {"id": RUN, "kind": "apply", "status": "running"}});
    let running = of_web(&task(true, &running, &[]), Role::Admin).await;
    let expected = ["Cancel", "Cancel by force", "Delete"]
        .map(str::to_owned)
        .to_vec();
    let greyed = ["Run now", "Disable", "Inspect"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(labels(&running), (expected, greyed));
    assert!(running.contains("title=\"a run of the task is in progress\""));
}

#[tokio::test]
async fn a_task_that_waits_for_a_person_has_the_actions_for_that() {
    let hold = json!({"web": {"hold": {"losses": [{"service": "web", "applied": 9, "now": 1}]}}});
    let state = json!({"task": "web", "state": null, "conflict": {"reason": "r"}, "keep": null, "from": null});
    let approvals = json!({"approvals": [
        {"run_id": RUN, "task_name": "web", "state": "waiting"},
        {"run_id": "2", "task_name": "web", "state": "rejected"},
        {"run_id": "3", "task_name": "webs", "state": "waiting"},
    ], "set": "s"});
    let api = task(
        true,
        &json!({}),
        &[
            ("GET /v1/status/tasks/web", 200, hold),
            ("GET /v1/tasks/web/state", 200, state),
            ("GET /v1/approvals?task=web", 200, approvals),
        ],
    );
    let html = of_web(&api, Role::Admin).await;
    let (pressed, _) = labels(&html);
    let links = [
        "Release",
        "Decide the state",
        "Decide about the effect",
        "Delete",
    ];
    assert_eq!(
        pressed,
        [&["Run now", "Disable", "Inspect", "Reopen"][..], &links].concat()
    );
    assert!(
        html.contains(&format!("href=\"/ui/approvals/{RUN}\"")),
        "{html}"
    );
}

#[test]
fn runs_workers_and_the_brake_have_actions_while_they_can_be_done() {
    let api = Fake::new(&[]);
    let run = |status: RunStatus, state: &str| Run {
        id: RUN.to_owned(),
        status: status.into(),
        state: state.to_owned(),
        ..Run::default()
    };
    let worker = |condition: WorkerCondition| OverviewWorker {
        id: "w/1".to_owned(),
        condition: condition.into(),
        ..OverviewWorker::default()
    };
    let (site, viewer) = (site(), viewer(Role::Admin));
    let context = &context(&site, &viewer, &api);
    let of_run = |status, state| labels(&of_run(&run(status, state), context).0).0;
    assert_eq!(of_run(RunStatus::Queued, ""), ["Cancel"]);
    assert_eq!(
        of_run(RunStatus::Queued, "waiting"),
        ["Decide about the effect", "Cancel"]
    );
    assert_eq!(
        of_run(RunStatus::Running, ""),
        ["Cancel", "Cancel by force"]
    );
    assert_eq!(of_run(RunStatus::Succeeded, ""), [""; 0]);
    let active = of_worker(&worker(WorkerCondition::Active), context).0;
    assert!(
        active.contains("href=\"/ui/workers/w%2F1/drain\""),
        "{active}"
    );
    assert_eq!(of_worker(&worker(WorkerCondition::Lost), context).0, "");
    let set = |set| Brake {
        set,
        ..Brake::default()
    };
    assert_eq!(
        labels(&of_brake(&set(true), context).0).0,
        ["Release the brake"]
    );
    assert_eq!(of_brake(&set(false), context).0, "");
}
