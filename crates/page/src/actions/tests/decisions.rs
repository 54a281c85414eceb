//! Decisions about effects.

use cts_core::callers::Role;
use serde_json::{Value, json};

use super::fake::{Fake, RUN, address_after, refused, shown};

fn approval(effect: &str, state: &str, deleted: u32) -> Value {
    let counts = json!({"deleted": deleted, "created": 2});
    json!({"approval": {"run_id": RUN, "task_name": "web", "effect": effect, "state": state, "counts": counts}})
}

/// An API that shows these answers about the effect in turn, and takes decisions.
fn api(shown: &[Value]) -> Fake {
    let get = format!("GET /v1/approvals/{RUN}");
    let (approve, reject) = (
        get.replace("GET", "POST") + "/approve",
        get.replace("GET", "POST") + "/reject",
    );
    let mut answers: Vec<_> = shown
        .iter()
        .map(|it| (get.as_str(), 200, it.clone()))
        .collect();
    answers.push((&approve, 200, approval("e1", "approved", 2)));
    answers.push((&reject, 200, approval("e1", "rejected", 2)));
    Fake::new(&answers)
}

fn path(word: &str) -> String {
    format!("approvals/{RUN}/{word}")
}

#[tokio::test]
async fn destruction_is_approved_by_the_name_of_the_task_or_the_number_of_resources() {
    for typed in ["web", "2", "+web+"] {
        let api = api(&[approval("e1", "waiting", 2)]);
        let form = format!("effect=e1&seen=2+destroyed&comment=ok&confirm={typed}");
        let address = address_after(&api, &path("approve"), &form).await;
        assert_eq!(address, format!("/ui/approvals/{RUN}?done=Approve"));
        let call =
            format!("POST /v1/approvals/{RUN}/approve {{\"comment\":\"ok\",\"effect\":\"e1\"}}");
        assert_eq!(api.changes(), [call]);
    }
    for typed in ["", "Web", "4", "2.0", "web 2", "yes"] {
        let api = api(&[approval("e1", "waiting", 2)]);
        let form = format!("effect=e1&seen=2+destroyed&comment=ok&confirm={typed}");
        let html = refused(&api, &path("approve"), &form).await;
        assert!(
            html.contains("aria-describedby=\"confirm-error\""),
            "{html}"
        );
        assert!(html.contains("name=\"comment\" value=\"ok\""), "{html}");
        assert_eq!(api.changes(), [""; 0]);
    }
}

#[tokio::test]
async fn creation_and_rejection_need_no_typing() {
    let harmless = api(&[approval("e1", "waiting", 0)]);
    let html = shown(&harmless, Role::Approve, &path("approve")).await;
    assert!(!html.contains("name=\"confirm\""), "{html}");
    address_after(&harmless, &path("approve"), "effect=e1&seen=&comment=").await;
    let rejected = api(&[approval("e1", "waiting", 2)]);
    address_after(
        &rejected,
        &path("reject"),
        "effect=e1&seen=&comment=no&confirm=",
    )
    .await;
    assert!(rejected.changes()[0].starts_with(&format!("POST /v1/approvals/{RUN}/reject ")));
}

#[tokio::test]
async fn unclear_plans_need_the_name_of_the_task() {
    let mut unclear = approval("e1", "waiting", 0);
    unclear["approval"]["unclear"] = json!(["a provider hides something"]);
    let api = api(&[unclear]);
    refused(&api, &path("approve"), "effect=e1&confirm=0").await;
    address_after(&api, &path("approve"), "effect=e1&confirm=web").await;
}

#[tokio::test]
async fn another_effect_is_refused_with_the_difference_and_asks_for_new_consent() {
    let api = api(&[approval("e2", "waiting", 5)]);
    let form = "effect=e1&seen=2+destroyed,+2+created&comment=ok&confirm=web";
    let html = refused(&api, &path("approve"), form).await;
    assert!(
        html.contains("Shown: 2 destroyed, 2 created. Now: 5 destroyed, 2 created."),
        "{html}"
    );
    assert!(html.contains("name=\"effect\" value=\"e2\""), "{html}");
    assert!(
        html.contains("name=\"comment\" value=\"ok\"") && html.contains("id=\"form-error\""),
        "{html}"
    );
    assert!(html.contains("name=\"confirm\" value=\"\""), "{html}");
    assert_eq!(api.changes(), [""; 0]);
}

#[tokio::test]
async fn both_buttons_keep_their_addresses_after_a_refused_rejection() {
    let api = api(&[approval("e1", "waiting", 2)]);
    let comment = "x".repeat(1025);
    let html = refused(
        &api,
        &path("reject"),
        &format!("effect=e1&comment={comment}"),
    )
    .await;
    assert!(
        html.contains(&format!(
            "method=\"post\" action=\"/ui/approvals/{RUN}/approve\""
        )),
        "{html}"
    );
    assert!(
        html.contains(&format!("formaction=\"/ui/approvals/{RUN}/reject\"")),
        "{html}"
    );
    assert!(
        html.contains("aria-describedby=\"comment-error\""),
        "{html}"
    );
    assert!(!html.contains("confirm-error"), "{html}");
}

#[tokio::test]
async fn a_conflict_of_rest_is_shown_with_the_present_effect() {
    let get = format!("GET /v1/approvals/{RUN}");
    let post = format!("POST /v1/approvals/{RUN}/approve");
    let conflict = json!({"error": {"message": "the effect differs", "code": "approval-changed"}});
    let api = Fake::new(&[
        (&get, 200, approval("e1", "waiting", 2)),
        (&get, 200, approval("e2", "waiting", 3)),
        (&post, 409, conflict),
    ]);
    let html = refused(&api, &path("approve"), "effect=e1&confirm=2").await;
    assert!(
        html.contains("the effect differs") && html.contains("value=\"e2\""),
        "{html}"
    );
    assert!(html.contains("name=\"confirm\" value=\"\""), "{html}");
}

#[tokio::test]
async fn a_repeated_decision_is_answered_like_the_first() {
    for (word, state, done) in [
        ("approve", "approved", "Approve"),
        ("approve", "used", "Approve"),
        ("reject", "rejected", "Reject"),
    ] {
        let api = api(&[approval("e1", state, 2)]);
        let address = address_after(&api, &path(word), "effect=e1&confirm=web").await;
        assert_eq!(address, format!("/ui/approvals/{RUN}?done={done}"));
        assert_eq!(api.changes(), [""; 0]);
    }
    for (word, state) in [("approve", "rejected"), ("reject", "approved")] {
        let api = api(&[approval("e1", state, 2)]);
        let html = refused(&api, &path(word), "effect=e1&confirm=web").await;
        assert!(html.contains(&format!("the effect is {state}")), "{html}");
        assert!(!html.contains("class=\"form\""), "{html}");
        assert_eq!(api.changes(), [""; 0]);
    }
}

fn set(set: &str, states: &[(&str, &str)]) -> Value {
    let approvals = states.iter().map(|(task, state)| {
        json!({"run_id": RUN, "task_name": task, "state": state, "counts": {"deleted": 2}})
    });
    json!({"approvals": approvals.collect::<Vec<_>>(), "set": set})
}

#[tokio::test]
async fn a_set_is_approved_as_it_was_shown_with_its_patterns() {
    let listed = "GET /v1/approvals?task=edge-%2A&task=web";
    let waiting = set(
        "s1",
        &[
            ("edge-1", "waiting"),
            ("web", "waiting"),
            ("edge-2", "approved"),
        ],
    );
    let api = Fake::new(&[
        (listed, 200, waiting),
        ("POST /v1/approvals/approve", 200, json!({})),
    ]);
    let form = "set=s1&task=edge-*&task=web&comment=";
    let html = refused(&api, "approvals/approve", &format!("{form}&confirm=6")).await;
    assert!(
        html.contains("4 (the number of destroyed resources)"),
        "{html}"
    );
    let address = address_after(&api, "approvals/approve", &format!("{form}&confirm=4")).await;
    assert_eq!(address, "/ui/approvals?done=ApproveSet");
    let body = json!({"tasks": ["edge-*", "web"], "set": "s1", "comment": ""});
    assert_eq!(
        api.changes(),
        [format!("POST /v1/approvals/approve {body}")]
    );
}

#[tokio::test]
async fn a_set_that_changed_is_refused_with_its_tasks_and_a_repeated_approval_is_not() {
    let mut conflict = set("s2", &[("web", "waiting")]);
    conflict["error"] = json!({"message": "changed", "code": "approval-changed"});
    conflict["came"] = json!(["web"]);
    conflict["went"] = json!(["a", "b"]);
    let listed = (
        "GET /v1/approvals?task=web",
        200,
        set("s2", &[("web", "waiting")]),
    );
    let api = Fake::new(&[
        listed.clone(),
        ("POST /v1/approvals/approve", 409, conflict),
    ]);
    let html = refused(&api, "approvals/approve", "set=s1&task=web&confirm=2").await;
    assert!(html.contains("Came: web. Went: a, b."), "{html}");
    assert!(
        html.contains("name=\"set\" value=\"s2\"") && html.contains("name=\"confirm\" value=\"\""),
        "{html}"
    );

    let mut repeated = set("", &[("web", "approved")]);
    repeated["error"] = json!({"message": "changed", "code": "approval-changed"});
    repeated["went"] = json!(["web"]);
    let api = Fake::new(&[listed, ("POST /v1/approvals/approve", 409, repeated)]);
    address_after(&api, "approvals/approve", "set=s1&task=web&confirm=2").await;
}

#[tokio::test]
async fn reopening_twice_says_that_nothing_is_rejected() {
    let none =
        json!({"error": {"message": "no effect of 'web' is rejected", "code": "approval-unknown"}});
    let api = Fake::new(&[
        ("POST /v1/approvals/reopen", 200, json!({"reopened": 1})),
        ("POST /v1/approvals/reopen", 404, none),
        (
            "GET /v1/approvals",
            200,
            json!({"approvals": [], "set": ""}),
        ),
    ]);
    let first = address_after(&api, "approvals/reopen", "task=web").await;
    assert_eq!(first, "/ui/approvals?done=Reopen");
    let again = refused(&api, "approvals/reopen", "task=web").await;
    assert!(again.contains("is rejected"), "{again}");
    assert_eq!(
        api.changes()[0],
        "POST /v1/approvals/reopen {\"task\":\"web\"}"
    );
}
