//! Actions about tasks, runs, workers and the brake: their calls, results and retries.

use cts_core::{RunId, TaskName};
use serde_json::json;

use super::fake::{Fake, RUN, address_after, refused};

#[tokio::test]
async fn each_action_makes_its_call_and_leads_to_its_result() {
    let run = json!({"run": {"id": RUN, "task_name": "web", "kind": "apply", "status": "running"}});
    let hold = json!({"web": {"hold": {"losses": [{"service": "web", "applied": 9, "now": 1}]}}});
    let state = json!({"task": "web", "state": null, "conflict": {"reason": "r"}, "keep": null, "from": null});
    let workers = json!({"workers": [{"id": "w-1", "condition": "active"}]});
    let run_now = format!("PATCH /v1/tasks/web?run=now&wait=false&idempotency_key={RUN}");
    let inspect = format!("PATCH /v1/tasks/web?run=inspect&idempotency_key={RUN}");
    let destroy_plan = format!("POST /v1/tasks/web/destroy-plan?idempotency_key={RUN}");
    let answers = [
        ("GET /v1/tasks/web", json!({"task": {"enabled": true}})),
        ("GET /v1/tasks/web/state", state),
        ("GET /v1/status/tasks/web", hold),
        ("GET /v1/runs/1", run),
        ("GET /v1/brake", json!({"set": true, "lost": 3, "of": 9})),
        ("GET /v1/overview", workers),
        (run_now.as_str(), json!({"run": RUN})),
        (inspect.as_str(), json!({})),
        ("PATCH /v1/tasks/web", json!({})),
        ("POST /v1/tasks/web/release", json!({})),
        ("POST /v1/tasks/web/state", json!({})),
        (destroy_plan.as_str(), json!({})),
        ("DELETE /v1/tasks/web", json!({})),
        ("POST /v1/runs/1/cancel", json!({})),
        ("POST /v1/brake", json!({})),
        ("POST /v1/workers/w-1/drain", json!({})),
    ];
    let answers = answers.map(|(call, answer)| (call, 200, answer));
    let after_run = format!("runs/{RUN}?done=Run");
    let key = format!("key={RUN}");
    let [run_now, inspect] =
        [&run_now, &inspect].map(|call| format!("{call} {{\"enabled\":true}}"));
    let destroy_plan = format!("{destroy_plan} ");
    for (path, form, call, after) in [
        ("tasks/web/run", &*key, &*run_now, after_run.as_str()),
        (
            "tasks/web/inspect",
            &*key,
            &*inspect,
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
            &*key,
            &*destroy_plan,
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

#[tokio::test]
async fn a_form_that_requests_a_run_has_a_key() {
    for path in [
        "tasks/web/run",
        "tasks/web/inspect",
        "tasks/web/destroy-plan",
    ] {
        for form in ["", "key=", "key=x"] {
            let known = ("GET /v1/tasks/web", 200, json!({"task": {"enabled": true}}));
            let explained = ("GET /v1/tasks/web/explain", 200, json!({"explanation": {}}));
            let api = Fake::new(&[known, explained]);
            let html = refused(&api, path, form).await;
            assert!(html.contains("The page has no such form"), "{html}");
            assert_eq!(api.changes(), [""; 0], "{path} {form}");
        }
    }
}

#[tokio::test]
async fn an_action_leads_to_the_run_that_it_has_made() {
    const EARLIER: &str = "0197a000-0000-7000-8000-000000000002";
    let web = TaskName::new("web").unwrap();
    let made = RUN.parse::<RunId>().unwrap();
    let made = made.with_key(RUN.parse().unwrap(), &web).to_string();
    let listed = |ids: &[&str]| {
        let runs = ids.iter().map(|id| json!({"id": id}));
        let runs = json!({"runs": runs.collect::<Vec<_>>()});
        ("GET /v1/runs?task=web&limit=20", 200, runs)
    };
    let destroy_plan = format!("POST /v1/tasks/web/destroy-plan?idempotency_key={RUN}");
    let inspect = format!("PATCH /v1/tasks/web?run=inspect&idempotency_key={RUN}");
    for (path, call, leads, otherwise) in [
        (
            "tasks/web/destroy-plan",
            &destroy_plan,
            format!("/ui/tasks/web/delete?done=PlanDestruction&run={made}"),
            "/ui/tasks/web/delete?done=PlanDestruction",
        ),
        (
            "tasks/web/inspect",
            &inspect,
            format!("/ui/runs/{made}?done=Inspect"),
            "/ui/tasks/web?done=Inspect",
        ),
    ] {
        let (call, form) = ((&**call, 200, json!({})), format!("key={RUN}"));
        let api = Fake::new(&[listed(&[EARLIER, &made]), call.clone()]);
        assert_eq!(address_after(&api, path, &form).await, leads);
        let api = Fake::new(&[listed(&[EARLIER]), call]);
        assert_eq!(address_after(&api, path, &form).await, otherwise);
    }
}

#[tokio::test]
async fn a_request_that_may_have_been_made_keeps_its_key() {
    let run_now = format!("PATCH /v1/tasks/web?run=now&wait=false&idempotency_key={RUN}");
    let known = ("GET /v1/tasks/web", 200, json!({"task": {"enabled": true}}));
    let explained = ("GET /v1/tasks/web/explain", 200, json!({"explanation": {}}));
    for (status, keys) in [(503, 1), (500, 0)] {
        let error = json!({"error": {"message": "no"}});
        let api = Fake::new(&[known.clone(), explained.clone(), (&run_now, status, error)]);
        let html = refused(&api, "tasks/web/run", &format!("key={RUN}")).await;
        let field = format!("name=\"key\" value=\"{RUN}\"");
        assert_eq!(html.matches(&field).count(), keys, "{status} {html}");
    }
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
