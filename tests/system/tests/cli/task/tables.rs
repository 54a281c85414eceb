//! Tables on a terminal and in a pipe, and the tasks of a list.

use cts_testkit::ScriptedAnswer;
use serde_json::{Value, json};

use super::call::{Call, CommandOutput};
use super::run::a_run;
use super::{Conversation, ok, refused};

const ALL: &str = "GET /v1/runs?limit=1000";

const TASKS: [&str; 3] = [
    "GET /v1/tasks",
    "GET /v1/status/tasks",
    "GET /v1/overview/tasks",
];

fn tasks() -> [ScriptedAnswer; 3] {
    let task = |name: &str, enabled: bool, module: &str, service: &str| {
        let condition = json!({"services": {"names": [service]}});
        json!({"name": name, "enabled": enabled, "module": module, "condition": condition})
    };
    let status = |name: &str, status: &str| json!({"task_name": name, "status": status, "enabled": true, "providers": [], "services": []});
    [
        ok(json!({"tasks": [
            task("web", true, "acme/lb/cts", "web"),
            task("dns", false, "./dns", "API"),
            task("edge", true, "./dns", "edge"),
        ]})),
        ok(json!({"web": status("web", "successful"), "edge": status("edge", "critical")})),
        ok(json!({"tasks": [
            {"name": "dns", "state": {"name": "disabled"}},
            {"name": "edge", "state": {"name": "never_run", "since": "2026-02-03T10:15:30Z"}},
            {"name": "web", "state": {"name": "blocked", "since": "2026-02-03T09:15:30Z"}},
        ]})),
    ]
}

/// The names of the listed tasks, in their order.
async fn listed(options: &[&str]) -> Vec<String> {
    let server = Conversation::with(tasks()).await;
    let call = Call::cts(&[&["task", "list"], options].concat());
    let said = server.run(call, &TASKS).await;
    assert_eq!(said.code, Some(0), "{said}");
    let lines = said.stdout.lines().skip(1);
    let name = |line: &str| line.split(' ').next().unwrap().to_owned();
    let table: Vec<String> = lines.map(name).collect();
    let server = Conversation::with(tasks()).await;
    let call = Call::cts(&[&["task", "list", "-o=json"], options].concat());
    let said = server.run(call, &TASKS).await;
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    let document = document["tasks"].as_array().unwrap().iter();
    let document: Vec<&str> = document
        .map(|task| task["name"].as_str().unwrap())
        .collect();
    assert_eq!(document, table, "{options:?}");
    table
}

#[tokio::test]
async fn tasks_are_picked_by_state_and_text_and_sorted() {
    for (options, expected) in [
        (&[][..], &["web", "dns", "edge"][..]),
        (&["-state=blocked"], &["web"]),
        (&["-state=blocked,never_run"], &["web", "edge"]),
        (
            &["-state", "disabled", "-state", "blocked"],
            &["web", "dns"],
        ),
        (&["-filter=DNS"], &["dns", "edge"]),
        (&["-filter=api"], &["dns"]),
        (&["-filter=acme", "-state=disabled"], &[]),
        (&["-sort=name"], &["dns", "edge", "web"]),
        (&["-sort=state"], &["web", "dns", "edge"]),
        (&["-sort=status"], &["edge", "web", "dns"]),
        (&["-sort=module"], &["dns", "edge", "web"]),
        (&["-sort=enabled"], &["dns", "edge", "web"]),
        (&["-sort=since"], &["edge", "web", "dns"]),
    ] {
        assert_eq!(listed(options).await, expected, "{options:?}");
    }
    let server = Conversation::with(tasks()).await;
    let said = server
        .run(Call::cts(&["task", "list", "-filter=x"]), &TASKS)
        .await;
    said.stderr_has(["There are no such tasks."]);
    let said = Call::cts(&["task", "list", "-state=held"]).run().await;
    assert_eq!(said.code, Some(14), "{said}");
    said.stderr_has(["held"]);
}

fn task_page(total: u32, pages: u32) -> ScriptedAnswer {
    let since = "2026-02-03T10:15:30Z";
    let blocked =
        json!({"name": "blocked", "since": since, "text": "held by the brake", "later": 1});
    ok(json!({
        "request_id": "0197a000-0000-7000-8000-000000000001",
        "tasks": [
            {"name": "edge_1", "state": blocked},
            {"name": "edge_2", "state": {"name": "never_run"}},
        ],
        "total": total,
        "pages": pages,
    }))
}

#[tokio::test]
async fn pages_are_picked_and_sorted_by_the_server() {
    for (options, query) in [
        (&["-page=3"][..], "page=3"),
        (&["-search", "a&b"], "page=1&search=a%26b"),
        (
            &["-search=edge", "-state=blocked,never_run", "-sort=since"],
            "page=1&search=edge&state=blocked%2Cnever_run&sort=since",
        ),
    ] {
        let server = Conversation::with([task_page(2, 1)]).await;
        let call = Call::cts(&[&["task", "list"], options].concat());
        let said = server
            .run(call, &[&format!("GET /v1/overview/tasks?{query}")])
            .await;
        assert_eq!((said.code, &*said.stderr), (Some(0), ""), "{said}");
        let lines: Vec<&str> = said.stdout.lines().collect();
        assert_eq!(lines.len(), 3, "{said}");
        assert!(lines[1].starts_with("edge_1  blocked since "), "{said}");
        assert!(
            lines[1].trim_end().ends_with(": held by the brake"),
            "{said}"
        );
        assert_eq!(lines[2].trim_end(), "edge_2  never run", "{said}");
    }
    let server = Conversation::with([task_page(413, 3)]).await;
    let call = Call::cts(&["task", "list", "-page=2", "-o=json"]);
    let said = server.run(call, &["GET /v1/overview/tasks?page=2"]).await;
    said.stderr_has(["Page 2 of 3, with 413 tasks in all."]);
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(
        (&document["total"], &document["pages"]),
        (&json!(413), &json!(3))
    );
    let state = &document["tasks"][0]["state"];
    assert_eq!(
        (&state["name"], &state["later"]),
        (&json!("blocked"), &json!(1))
    );
    assert_eq!(document.get("request_id"), None);
    for options in [&["-page=0"][..], &["-page=x"], &["-page=1", "-filter=a"]] {
        let call = Call::cts(&[&["task", "list"], options].concat());
        assert_eq!(call.run().await.code, Some(14), "{options:?}");
    }
    let refusal = refused(400, "parameter \"sort\" in query has an error");
    let server = Conversation::with([refusal]).await;
    let call = Call::cts(&["task", "list", "-page=1", "-sort=module"]);
    let request = "GET /v1/overview/tasks?page=1&sort=module";
    assert_eq!(server.run(call, &[request]).await.code, Some(11));
}

/// A server of an earlier version ignores the parameters.
#[tokio::test]
async fn a_list_without_pages_is_refused() {
    let [_, _, states] = tasks();
    let server = Conversation::with([states]).await;
    let call = Call::cts(&["task", "list", "-page=1"]);
    let said = server.run(call, &["GET /v1/overview/tasks?page=1"]).await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stderr_has(["unable to list the tasks", "total"]);
}

/// A server without states cannot answer.
#[tokio::test]
async fn a_state_needs_a_server_that_sends_it() {
    let page = ScriptedAnswer::Text(404, "text/plain", "404 page not found\n".into());
    let [tasks, statuses, _] = tasks();
    let server = Conversation::with([tasks, statuses, page]).await;
    let call = Call::cts(&["task", "list", "-state=blocked"]);
    let said = server.run(call, &TASKS).await;
    assert_eq!(said.code, Some(11), "{said}");
}

/// Runs of one moment, and one of another.
const IDS: [&str; 3] = [
    "0197a000-0000-7000-8000-000000000001",
    "0197a000-0000-7000-8000-100000000002",
    "0197a000-0001-7000-8000-000000000003",
];

fn runs(ids: &[&str]) -> ScriptedAnswer {
    let runs: Vec<Value> = ids.iter().map(|id| a_run(id, "failed")).collect();
    ok(json!({"runs": runs}))
}

/// The call on a terminal of 80 columns.
async fn on_terminal(server: &Conversation, call: Call) -> CommandOutput {
    let said = server.call(call).columns(80).dialogue(&[]).await;
    assert_eq!(said.code, Some(0), "{said}");
    for line in said.stdout.lines() {
        assert!(line.trim_end().chars().count() <= 80, "{said}");
    }
    said
}

#[tokio::test]
async fn a_terminal_gets_ids_that_are_short_and_accepted() {
    let server = Conversation::with([runs(&IDS[1..]), runs(&IDS)]).await;
    let said = on_terminal(&server, Call::cts(&["runs", "list"])).await;
    assert_eq!(server.server.lines(), ["GET /v1/runs?limit=20", ALL]);
    let shown: Vec<&str> = said
        .stdout
        .lines()
        .skip(1)
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(shown, ["0197a000-0000-7000-8000-1", "0197a000-0001"]);
    let unknown = || refused(404, "a run with this id does not exist");
    for (short, id) in shown.iter().zip(&IDS[1..]) {
        let script = [
            unknown(),
            runs(&IDS),
            ok(json!({"run": a_run(id, "failed")})),
        ];
        let server = Conversation::with(script).await;
        let said = server.call(Call::cts(&["runs", "show", short])).run().await;
        said.stdout_has([*id]);
    }
    let server = Conversation::with([unknown(), runs(&IDS)]).await;
    let said = server
        .call(Call::cts(&["runs", "logs", &IDS[0][..13]]))
        .run()
        .await;
    assert_eq!(said.code, Some(11), "{said}");
    let both = format!("{} of web, {} of web", IDS[0], IDS[1]);
    said.stderr_has(["is the beginning of 2 runs", both.as_str()]);
}

#[tokio::test]
async fn ids_are_whole_in_a_pipe_and_where_that_is_demanded() {
    let server = Conversation::with([runs(&IDS)]).await;
    let piped = server
        .run(Call::cts(&["runs", "list"]), &["GET /v1/runs?limit=20"])
        .await;
    let server = Conversation::with([runs(&IDS)]).await;
    let call = server.call(Call::cts(&["runs", "list", "-wide"]));
    let wide = call.columns(40).dialogue(&[]).await;
    assert_eq!(wide.stdout.replace("\r\n", "\n"), piped.stdout);
    // The answer about all runs fails.
    let server = Conversation::with([runs(&IDS), refused(503, "later")]).await;
    let call = server.call(Call::cts(&["runs", "list"]));
    let said = call.columns(80).dialogue(&[]).await;
    said.stdout_has(IDS);
}
