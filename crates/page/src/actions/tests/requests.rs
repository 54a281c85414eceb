//! Actions about tasks, runs, workers and the brake: their calls, results and retries.

use serde_json::{Value, json};

use super::fake::{Fake, RUN, address_after, refused};

#[tokio::test]
async fn each_action_makes_its_call_and_leads_to_its_result() {
    let run = json!({"run": {"id": RUN, "task_name": "web", "kind": "apply", "status": "running"}});
    let hold = json!({"web": {"hold": {"losses": [{"service": "web", "applied": 9, "now": 1}]}}});
    let state = json!({"task": "web", "state": null, "conflict": {"reason": "r"}, "keep": null, "from": null});
    let workers = json!({"workers": [{"id": "w-1", "condition": "active"}]});
    let answers = [
        ("GET /v1/tasks/web", json!({"task": {"enabled": true}})),
        ("GET /v1/tasks/web/explain", json!({"explanation": {}})),
        ("GET /v1/tasks/web/state", state),
        ("GET /v1/status/tasks/web", hold),
        ("GET /v1/runs?task=web&limit=20", json!({"runs": []})),
        ("GET /v1/runs/1", run),
        ("GET /v1/brake", json!({"set": true, "lost": 3, "of": 9})),
        ("GET /v1/overview", workers),
        (
            "PATCH /v1/tasks/web?run=now&wait=false",
            json!({"run": RUN}),
        ),
        ("PATCH /v1/tasks/web?run=inspect", json!({})),
        ("PATCH /v1/tasks/web", json!({})),
        ("POST /v1/tasks/web/release", json!({})),
        ("POST /v1/tasks/web/state", json!({})),
        ("POST /v1/tasks/web/destroy-plan", json!({})),
        ("DELETE /v1/tasks/web", json!({})),
        ("POST /v1/runs/1/cancel", json!({})),
        ("POST /v1/brake", json!({})),
        ("POST /v1/workers/w-1/drain", json!({})),
    ];
    let answers = answers.map(|(call, answer)| (call, 200, answer));
    let after_run = format!("runs/{RUN}?done=Run");
    for (path, form, call, after) in [
        (
            "tasks/web/run",
            "seen=",
            "PATCH /v1/tasks/web?run=now&wait=false {\"enabled\":true}",
            after_run.as_str(),
        ),
        (
            "tasks/web/inspect",
            "",
            "PATCH /v1/tasks/web?run=inspect {\"enabled\":true}",
            "tasks/web?done=Inspect",
        ),
        (
            "tasks/web/enable",
            "",
            "PATCH /v1/tasks/web {\"enabled\":true}",
            "tasks/web?done=Enable",
        ),
        (
            "tasks/web/disable",
            "",
            "PATCH /v1/tasks/web {\"enabled\":false}",
            "tasks/web?done=Disable",
        ),
        (
            "tasks/web/release",
            "seen=1+web&seen=0+a+b",
            "POST /v1/tasks/web/release {\"seen\":[{\"now\":1,\"service\":\"web\"},{\"now\":0,\"service\":\"a b\"}]}",
            "tasks/web?done=Release",
        ),
        (
            "tasks/web/state",
            "decision=old&confirm=web",
            "POST /v1/tasks/web/state {\"keep\":\"old\"}",
            "tasks/web?done=DecideState",
        ),
        (
            "tasks/web/state",
            "decision=from&from=w&confirm=web",
            "POST /v1/tasks/web/state {\"from\":\"w\"}",
            "tasks/web?done=DecideState",
        ),
        (
            "tasks/web/destroy-plan",
            "",
            "POST /v1/tasks/web/destroy-plan ",
            "tasks/web/delete?done=PlanDestruction",
        ),
        (
            "tasks/web/delete",
            "confirm=web&seen=",
            "DELETE /v1/tasks/web ",
            "tasks?done=Delete",
        ),
        (
            "runs/1/cancel",
            "seen=running",
            "POST /v1/runs/1/cancel {\"force\":false}",
            "runs/1?done=Cancel",
        ),
        (
            "runs/1/cancel-force",
            "seen=running&confirm=web",
            "POST /v1/runs/1/cancel {\"force\":true}",
            "runs/1?done=CancelByForce",
        ),
        (
            "brake/release",
            "lost=3&of=9&confirm=3",
            "POST /v1/brake {\"seen\":{\"lost\":3,\"of\":9}}",
            "cluster?done=ReleaseBrake",
        ),
        (
            "workers/w-1/drain",
            "",
            "POST /v1/workers/w-1/drain ",
            "cluster?done=Drain",
        ),
    ] {
        let api = Fake::new(&answers);
        assert_eq!(
            address_after(&api, path, form).await,
            format!("/ui/{after}")
        );
        assert_eq!(api.changes(), [call]);
    }
}

fn explained(run: &Value) -> Value {
    json!({"explanation": {"last_run": run}})
}

#[tokio::test]
async fn a_repeated_request_is_answered_with_the_run_of_the_first() {
    let before = json!({"id": "1", "kind": "apply", "status": "succeeded", "no_retry": true});
    let requested = json!({"id": RUN, "kind": "apply", "status": "succeeded", "no_retry": true});
    let patch = "PATCH /v1/tasks/web?run=now&wait=false";
    let api = Fake::new(&[
        ("GET /v1/tasks/web/explain", 200, explained(&before)),
        ("GET /v1/tasks/web/explain", 200, explained(&requested)),
        (patch, 202, json!({"run": RUN})),
    ]);
    let first = address_after(&api, "tasks/web/run", "seen=1").await;
    let again = address_after(&api, "tasks/web/run", "seen=1").await;
    assert_eq!(first, format!("/ui/runs/{RUN}?done=Run"));
    assert_eq!(again, format!("/ui/runs/{RUN}?done=known-run"));
    assert_eq!(api.changes().len(), 1);
    let newer = address_after(&api, "tasks/web/run", &format!("seen={RUN}")).await;
    assert_eq!((newer, api.changes().len()), (first, 2));
}

#[tokio::test]
async fn a_run_that_is_older_than_the_seen_one_does_not_answer_a_request() {
    let run = |id: &str, no_retry: bool| json!({"id": id, "kind": "apply", "status": "running", "no_retry": no_retry});
    let explained = |current: &Value, last: &Value| json!({"explanation": {"current_run": current, "last_run": last}});
    let (requested, change) = (run("1", true), run("2", false));
    for (current, last, seen, calls) in [
        (&change, &requested, "2", 1),
        (&requested, &change, "1", 1),
        (&requested, &change, "2", 0),
        (&change, &requested, "0", 0),
    ] {
        let patch = "PATCH /v1/tasks/web?run=now&wait=false";
        let api = Fake::new(&[
            ("GET /v1/tasks/web/explain", 200, explained(current, last)),
            (patch, 202, json!({"run": RUN})),
        ]);
        let address = address_after(&api, "tasks/web/run", &format!("seen={seen}")).await;
        let expected = if calls == 1 {
            format!("/ui/runs/{RUN}?done=Run")
        } else {
            "/ui/runs/1?done=known-run".to_owned()
        };
        assert_eq!((address, api.changes().len()), (expected, calls));
    }
}

#[tokio::test]
async fn a_run_of_a_change_does_not_answer_a_request() {
    let change = json!({"id": "2", "kind": "apply", "status": "succeeded", "no_retry": false});
    let api = Fake::new(&[
        ("GET /v1/tasks/web/explain", 200, explained(&change)),
        (
            "PATCH /v1/tasks/web?run=now&wait=false",
            202,
            json!({"run": RUN}),
        ),
    ]);
    address_after(&api, "tasks/web/run", "seen=1").await;
    assert_eq!(api.changes().len(), 1);
}

#[tokio::test]
async fn a_planned_destruction_is_shown_where_the_deletion_is_confirmed() {
    let runs = "GET /v1/runs?task=web&limit=20";
    let listed = |ids: &[&str]| {
        let runs = ids
            .iter()
            .map(|id| json!({"id": id, "kind": "destroy_plan"}));
        json!({"runs": runs.collect::<Vec<_>>()})
    };
    let post = ("POST /v1/tasks/web/destroy-plan", 200, json!({}));
    let api = Fake::new(&[
        (runs, 200, listed(&["1"])),
        (runs, 200, listed(&[RUN, "1"])),
        post.clone(),
    ]);
    let address = address_after(&api, "tasks/web/destroy-plan", "").await;
    assert_eq!(
        address,
        format!("/ui/tasks/web/delete?done=PlanDestruction&run={RUN}")
    );
    let nothing_applied = Fake::new(&[(runs, 200, listed(&["1"])), post]);
    let address = address_after(&nothing_applied, "tasks/web/destroy-plan", "").await;
    assert_eq!(address, "/ui/tasks/web/delete?done=PlanDestruction");
}

#[tokio::test]
async fn a_deletion_does_what_was_shown() {
    let task = |on_delete| {
        (
            "GET /v1/tasks/web",
            200,
            json!({"task": {"on_delete": on_delete}}),
        )
    };
    let retaining = Fake::new(&[
        task("destroy"),
        ("DELETE /v1/tasks/web?on_delete=retain", 202, json!({})),
    ]);
    let form = "confirm=web&seen=destroy&retain=yes";
    address_after(&retaining, "tasks/web/delete", form).await;
    assert_eq!(
        retaining.changes(),
        ["DELETE /v1/tasks/web?on_delete=retain "]
    );
    let changed = Fake::new(&[task("destroy")]);
    let html = refused(&changed, "tasks/web/delete", "confirm=web&seen=").await;
    assert!(
        html.contains("another `on_delete`") && html.contains("name=\"retain\""),
        "{html}"
    );
    assert_eq!(changed.changes(), [""; 0]);
}

#[tokio::test]
async fn a_cancellation_does_what_was_shown_and_may_be_repeated() {
    let run =
        |status| json!({"run": {"id": "1", "task_name": "web", "kind": "apply", "status": status}});
    let api = |status| Fake::new(&[("GET /v1/runs/1", 200, run(status))]);
    let running = api("running");
    let html = refused(&running, "runs/1/cancel", "seen=queued").await;
    assert!(
        html.contains("the run is running by now") && html.contains("value=\"running\""),
        "{html}"
    );
    let html = refused(&api("succeeded"), "runs/1/cancel", "seen=running").await;
    assert!(
        html.contains("The run has ended: it is succeeded."),
        "{html}"
    );
    let cancelled = api("cancelled");
    let again = address_after(&cancelled, "runs/1/cancel", "seen=running").await;
    assert_eq!(again, "/ui/runs/1?done=Cancel");
    assert_eq!((running.changes().len(), cancelled.changes().len()), (0, 0));
}

#[tokio::test]
async fn a_release_of_more_than_was_shown_is_refused_with_the_present_losses() {
    let hold =
        |now| json!({"web": {"hold": {"losses": [{"service": "web", "applied": 9, "now": now}]}}});
    let more = json!({"error": {"message": "more is lost: web has 1", "code": "x"}});
    let api = Fake::new(&[
        ("GET /v1/status/tasks/web", 200, hold(1)),
        ("POST /v1/tasks/web/release", 409, more),
    ]);
    let html = refused(&api, "tasks/web/release", "seen=2+web").await;
    assert!(
        html.contains("more is lost: web has 1") && html.contains("value=\"1 web\""),
        "{html}"
    );
    let released = Fake::new(&[
        ("GET /v1/status/tasks/web", 200, json!({"web": {}})),
        (
            "POST /v1/tasks/web/release",
            200,
            json!({"released": false}),
        ),
    ]);
    address_after(&released, "tasks/web/release", "seen=1+web").await;
}

#[tokio::test]
async fn a_released_brake_may_be_released_again() {
    let api = Fake::new(&[
        ("GET /v1/brake", 200, json!({"set": false})),
        ("POST /v1/brake", 200, json!({"released": null})),
    ]);
    address_after(&api, "brake/release", "lost=3&of=9&confirm=3").await;
    assert_eq!(
        api.changes(),
        ["POST /v1/brake {\"seen\":{\"lost\":3,\"of\":9}}"]
    );
}
