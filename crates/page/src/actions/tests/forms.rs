//! Confirmations: what they show, what they ask for, and forms that the page does not have.

use cts_core::callers::Role;
use http::StatusCode;
use serde_json::{Value, json};

use super::fake::{Fake, RUN, refused, sent, shown};
use crate::actions::{ACTIONS, find};
use crate::reply::Reply;

/// Plans of a destruction: of `web`, and of another task.
const DESTROY_PLAN: &str = "0197a000-0000-7000-8000-000000000002";
const OTHER_PLAN: &str = "0197a000-0000-7000-8000-000000000003";

fn hold(now: u32) -> Value {
    let losses = json!([{"service": "web", "applied": 9, "now": now}, {"service": "a b", "applied": 2, "now": 0}]);
    json!({"web": {"hold": {"losses": losses, "by_brake": true}}})
}

fn everything() -> Fake {
    let run = json!({"run": {"id": RUN, "task_name": "web", "kind": "apply", "status": "running"}});
    let planned = |id: &str, task: &str| json!({"run": {"id": id, "task_name": task, "kind": "destroy_plan"}});
    let counts = json!({"deleted": 2, "replaced": 1, "updated": 4});
    let approval = json!({"run_id": RUN, "task_name": "web", "effect": "e1", "state": "waiting",
        "counts": counts, "asked_at": "2026-02-03T10:15:30Z", "cause": ["web: -web-3"],
        "differs": ["acme_pool.web: port"]});
    let plan = json!({"plan": {"changes": [
        {"address": "acme.new", "action": "create"}, {"address": "acme.same", "action": "none"},
        {"address": "acme.swap", "action": "create_then_delete"}, {"address": "acme.old", "action": "delete"},
    ]}});
    let state = json!({"task": "web", "state": null, "keep": null, "from": null,
        "conflict": {"reason": "something else", "at": null, "new": null,
            "old": {"backend": "local", "workspace": "web", "lineage": "l", "serial": 1}}});
    let brake = json!({"configured": true, "set": true, "lost": 230, "of": 1000, "limit": 200, "held": 41,
        "losses": [{"service": "web", "datacenter": "dc2", "before": 120, "now": 3}], "more_losses": 4,
        "leased": [{"task_name": "edge", "run_id": RUN}]});
    let worker = json!({"workers": [{"id": "w-1", "host": "h", "condition": "active", "running": 1, "slots": 4}]});
    Fake::new(&[
        ("GET /v1/status/tasks/web", 200, hold(1)),
        (
            "GET /v1/tasks/web",
            200,
            json!({"task": {"enabled": true, "on_delete": "destroy"}}),
        ),
        ("GET /v1/tasks/web/state", 200, state),
        (&format!("GET /v1/runs/{RUN}"), 200, run),
        (&format!("GET /v1/runs/{RUN}/plan"), 200, plan.clone()),
        (
            &format!("GET /v1/runs/{DESTROY_PLAN}"),
            200,
            planned(DESTROY_PLAN, "web"),
        ),
        (&format!("GET /v1/runs/{DESTROY_PLAN}/plan"), 200, plan),
        (
            &format!("GET /v1/runs/{OTHER_PLAN}"),
            200,
            planned(OTHER_PLAN, "other"),
        ),
        (
            &format!("GET /v1/approvals/{RUN}"),
            200,
            json!({"approval": approval}),
        ),
        (
            "GET /v1/approvals?task=%2A",
            200,
            json!({"approvals": [approval], "set": "s1"}),
        ),
        (
            "GET /v1/approvals",
            200,
            json!({"approvals": [approval], "set": "s1"}),
        ),
        ("GET /v1/brake", 200, brake),
        ("GET /v1/overview", 200, worker),
    ])
}

fn addresses() -> Vec<String> {
    let asked = ACTIONS.iter().filter(|(_, action)| action.is_confirmed);
    let targets = asked.map(|(_, action)| match action.path.split('/').next() {
        Some("tasks") => action.path_of("web"),
        Some("workers") => action.path_of("w-1"),
        _ => action.path_of(RUN),
    });
    targets
        .chain([
            format!("approvals/{RUN}"),
            "approvals".to_owned(),
            format!("tasks/web/delete?run={DESTROY_PLAN}"),
        ])
        .collect()
}

/// Values of an attribute of the input elements in `html`.
fn inputs<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let elements = html.split("<input ").skip(1);
    let elements = elements
        .filter_map(|element| element.split_once('>'))
        .map(|(element, _)| element);
    let open = format!("{attribute}=\"");
    let values = elements.filter_map(|element| element.split_once(&open)?.1.split_once('"'));
    values.map(|(value, _)| value).collect()
}

#[tokio::test]
async fn each_confirmation_has_its_form_and_only_fields_of_its_action() {
    let api = everything();
    for address in addresses() {
        let html = shown(&api, Role::Admin, &address).await;
        let posts = html
            .split("<form class=\"form\" method=\"post\" action=\"/ui/")
            .skip(1);
        for form in posts.filter_map(|form| form.split_once("</form>")) {
            let (path, content) = form.0.split_once('"').unwrap();
            let (key, _) = find(path).unwrap();
            for name in inputs(content, "name") {
                assert!(key.action().fields.contains(&name), "{name} of {address}");
            }
        }
        let has_form = html.contains("<form class=\"form\"");
        assert_eq!(has_form, address != "approvals", "{html}");
        let reader = shown(&api, Role::Read, &address).await;
        assert!(!reader.contains("method=\"post\""), "{reader}");
        assert!(reader.contains("class=\"greyed\""), "{reader}");
    }
}

#[tokio::test]
async fn a_screen_has_the_bytes_of_its_fragments() {
    let api = everything();
    for address in addresses() {
        let page = shown(&api, Role::Admin, &address).await;
        let id = if address == "approvals" {
            "approvals"
        } else {
            "confirm"
        };
        let query = if address.contains('?') { '&' } else { '?' };
        let fragment = shown(&api, Role::Admin, &format!("{address}{query}fragment={id}")).await;
        assert!(
            fragment.starts_with(&format!("<section id=\"{id}\"")),
            "{fragment}"
        );
        assert!(page.contains(&fragment), "{address}: {fragment}");
    }
}

#[tokio::test]
async fn confirmations_show_what_would_happen() {
    let api = everything();
    let consent = shown(&api, Role::Admin, &format!("approvals/{RUN}")).await;
    let old = consent.find("acme.old").unwrap();
    assert!(old < consent.find("acme.swap").unwrap(), "{consent}");
    for text in [
        "2 destroyed, 1 replaced, 4 updated",
        "acme_pool.web: port",
        "web: -web-3",
        "Other changes: 1.",
        "2026-02-03 10:15:30",
        "3 (the number of destroyed resources)",
        "data-live=\"approvals\"",
    ] {
        assert!(consent.contains(text), "{text}: {consent}");
    }
    assert!(!consent.contains("acme.new") && !consent.contains("acme.same"));
    let release = shown(&api, Role::Admin, "tasks/web/release").await;
    assert_eq!(inputs(&release, "value"), ["1 web", "0 a b"]);
    let brake = shown(&api, Role::Admin, "brake/release").await;
    assert!(
        brake.contains("Lost instances: 230 of 1000") && brake.contains("230 (the number of lost"),
        "{brake}"
    );
    let state = shown(&api, Role::Admin, "tasks/web/state").await;
    assert!(
        state.contains("local, workspace web, lineage l, serial 1") && state.contains("not read"),
        "{state}"
    );
    let delete = shown(&api, Role::Admin, "tasks/web/delete").await;
    assert!(
        delete.contains("/ui/tasks/web/destroy-plan") && delete.contains("name=\"retain\""),
        "{delete}"
    );
    let missing = shown(&api, Role::Admin, "tasks/other/delete").await;
    assert!(missing.contains("Not here"), "{missing}");
}

#[tokio::test]
async fn a_deletion_shows_the_plan_of_its_own_destruction_alone() {
    let api = everything();
    let address = |run: &str| format!("tasks/web/delete?run={run}");
    let own = shown(&api, Role::Admin, &address(DESTROY_PLAN)).await;
    let field = format!("name=\"run\" value=\"{DESTROY_PLAN}\"");
    assert!(own.contains("acme.old") && own.contains(&field), "{own}");
    // An apply of the task, a plan of another task, and a run that does not exist.
    for run in [RUN, OTHER_PLAN, "none"] {
        let html = shown(&api, Role::Admin, &address(run)).await;
        assert!(html.contains("class=\"form\""), "{html}");
        assert!(
            !html.contains("acme.old") && !html.contains("name=\"run\""),
            "{run}: {html}"
        );
    }
}

#[tokio::test]
async fn an_address_does_not_fill_in_consent() {
    let html = shown(
        &everything(),
        Role::Admin,
        "tasks/web/delete?confirm=web&retain=yes&comment=x",
    )
    .await;
    assert!(
        !html.contains("value=\"web\"") && !html.contains("checked"),
        "{html}"
    );
}

#[tokio::test]
async fn refuses_forms_that_the_page_does_not_have() {
    let mib = "x".repeat(1 << 20);
    let many = "task=a&".repeat(65);
    let fields = "seen=y&".repeat(150_000);
    for (path, form) in [
        (
            "tasks/web/delete",
            "confirm=web&seen=destroy&force=1".to_owned(),
        ),
        (
            "tasks/web/delete",
            "confirm=other&confirm=web&seen=destroy".to_owned(),
        ),
        (
            "tasks/web/delete",
            "confirm=web&seen=destroy&run=%00".to_owned(),
        ),
        ("tasks/web/delete", "seen=destroy".to_owned()),
        ("tasks/web/delete", "confirm=web".to_owned()),
        ("tasks/web/delete", mib.clone()),
        ("tasks/web/delete", format!("seen=destroy&confirm={mib}")),
        ("tasks/web/delete", fields.clone()),
        ("tasks/web/release", fields),
        ("tasks/web/release", "seen=-1+web".to_owned()),
        ("tasks/web/release", "seen=web".to_owned()),
        ("tasks/web/state", "confirm=web&decision=both".to_owned()),
        (
            "tasks/web/state",
            "confirm=web&decision=from&from=".to_owned(),
        ),
        ("approvals/approve", format!("{many}set=s1&confirm=3")),
        ("brake/release", "confirm=230".to_owned()),
        ("brake/release", "confirm=230&lost=-1&of=1000".to_owned()),
        ("brake/release", String::new()),
    ] {
        let api = everything();
        let html = refused(&api, path, &form).await;
        let shown = &form[..form.len().min(40)];
        assert!(html.len() < 1 << 16, "{shown}: {} bytes", html.len());
        assert!(html.contains("role=\"alert\""), "{shown}");
        assert_eq!(api.changes(), [""; 0], "{shown}");
    }
    let api = everything();
    let broken = sent(&api, "tasks/web/delete", b"confirm=\xff%ff&seen=destroy").await;
    assert!(matches!(
        broken,
        Reply::Page {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            ..
        }
    ));
    for unknown in [
        "tasks/web/explode",
        "tasks//delete",
        "",
        "approvals/approve/approve/approve",
    ] {
        let reply = sent(&api, unknown, b"").await;
        assert!(
            matches!(
                reply,
                Reply::Page {
                    status: StatusCode::NOT_FOUND,
                    ..
                }
            ),
            "{unknown}"
        );
    }
    assert_eq!(api.changes(), [""; 0]);
}

#[tokio::test]
async fn a_refused_form_keeps_its_fields_and_names_the_fault_at_the_field() {
    let html = refused(
        &everything(),
        "tasks/web/delete",
        "confirm=%3Cb%3E%1b&seen=destroy&retain=yes",
    )
    .await;
    assert!(
        html.contains("id=\"confirm\" name=\"confirm\" value=\"&#60;b&#62;\""),
        "{html}"
    );
    assert!(
        html.contains("aria-invalid=\"true\" aria-describedby=\"confirm-error\""),
        "{html}"
    );
    assert!(
        html.contains("<span class=\"error\" id=\"confirm-error\">"),
        "{html}"
    );
    assert!(
        html.contains("name=\"retain\" value=\"yes\" checked"),
        "{html}"
    );
    assert!(!html.contains("id=\"form-error\""), "{html}");
}
