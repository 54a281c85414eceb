//! Runs by the beginning of their id, and their logs.

use cts_testkit::ScriptedAnswer;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::call::Call;
use super::run::{LOG, SHOW_WITH_CAUSE, a_run, ended};
use super::{Conversation, ok, refused};

const WHOLE: &str = "0197a000-0000-7000-8000-000000000001";

#[tokio::test]
async fn the_beginning_of_an_id_is_enough() {
    const BEGINNING: &str = "GET /v1/runs/id-?include=cause,attempts";
    const ALL: &str = "GET /v1/runs?limit=1000";
    let unknown = || refused(404, "a run with id 'id-' does not exist");
    let list = |ids: &[&str]| {
        let runs: Vec<Value> = ids.iter().map(|id| a_run(id, "failed")).collect();
        ok(json!({"runs": runs}))
    };
    let call = || Call::cts(&["runs", "show", "id-"]);
    let show = ok(json!({"run": ended("succeeded", "")}));
    let server = Conversation::with([unknown(), list(&["id-2", "other"]), show]).await;
    let said = server.run(call(), &[BEGINNING, ALL, SHOW_WITH_CAUSE]).await;
    assert_eq!(said.code, Some(0), "{said}");
    let server = Conversation::with([unknown(), list(&["id-2", "id-1"])]).await;
    let said = server.run(call(), &[BEGINNING, ALL]).await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stderr_has([
        "'id-' is the beginning of 2 runs",
        "id-2 of web, id-1 of web",
    ]);
    let server = Conversation::with([unknown(), list(&["other"])]).await;
    let said = server.run(call(), &[BEGINNING, ALL]).await;
    assert_snapshot!("runs_show_unknown", said);
}

#[tokio::test]
async fn logs_are_printed_as_terraform_wrote_them() {
    let lines = "{\"position\":2,\"lines\":[{\"stream\":\"stdout\",\"text\":\"one\"},\
                 {\"stream\":\"stderr\",\"text\":\"two\"}]}\n";
    let log = || ScriptedAnswer::Text(200, "application/x-ndjson", lines.into());
    let mut queued = a_run("id-3", "queued");
    queued["attempts"] = json!(0);
    let newest = || ok(json!({"runs": [queued.clone(), a_run("id-2", "failed")]}));
    let now = "GET /v1/runs/id-2/log?follow=false&format=ndjson&after=0";
    let server = Conversation::with([newest(), log()]).await;
    let requests = ["GET /v1/runs?task=web&limit=100", now];
    let said = server
        .run(Call::cts(&["task", "logs", "web"]), &requests)
        .await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "one\ntwo\n"));
    let followed = "GET /v1/runs/id-3/log?follow=true&format=ndjson&after=0";
    let server = Conversation::with([newest(), log()]).await;
    let requests = ["GET /v1/runs?task=web&limit=100", followed];
    let call = Call::cts(&["task", "logs", "-f", "web"]);
    let said = server.run(call, &requests).await;
    said.stderr_has(["Run id-3, which has not begun"]);
    let show = ok(json!({"run": ended("succeeded", "")}));
    let server = Conversation::with([show, log()]).await;
    let call = Call::cts(&["runs", "logs", "-f", "id-2"]);
    let said = server.run(call, &[SHOW_WITH_CAUSE, LOG]).await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "one\ntwo\n"));
}

/// An answer of a window with the line at this position, or without lines.
fn window(position: Option<u64>) -> ScriptedAnswer {
    let line = |position| json!({"position": position, "stream": "stdout", "text": "x"});
    let lines: Vec<Value> = position.into_iter().map(line).collect();
    ok(json!({"lines": lines, "last_position": 9, "attempts": []}))
}

fn log_lines(position: u64, texts: &[&str]) -> ScriptedAnswer {
    let line = |text: &&str| json!({"stream": "stdout", "text": text});
    let lines: Vec<Value> = texts.iter().map(line).collect();
    let part = json!({"position": position, "lines": lines}).to_string() + "\n";
    ScriptedAnswer::Text(200, "application/x-ndjson", part)
}

#[tokio::test]
async fn the_last_lines_and_those_of_an_attempt_are_printed() {
    let first = format!("GET /v1/runs/{WHOLE}/log?format=ndjson&after=0&limit=1");
    let last = format!("GET /v1/runs/{WHOLE}/log?format=ndjson&tail=1");
    let log = |follow: bool, after: u64| {
        format!("GET /v1/runs/{WHOLE}/log?follow={follow}&format=ndjson&after={after}")
    };
    let answers = || [window(Some(1)), window(Some(9)), log_lines(9, &["8", "9"])];
    let server = Conversation::with(answers()).await;
    let call = Call::cts(&["runs", "logs", "-tail", "2", WHOLE]);
    let said = server.run(call, &[&first, &last, &log(false, 7)]).await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "8\n9\n"));
    let server = Conversation::with(answers()).await;
    let call = Call::cts(&["runs", "logs", "-tail=20", "-f", WHOLE]);
    let said = server.run(call, &[&first, &last, &log(true, 0)]).await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "8\n9\n"));

    let (first, last) = (first + "&attempt=2", last + "&attempt=2");
    let server = Conversation::with([
        window(Some(4)),
        window(Some(6)),
        log_lines(7, &["4", "5", "6", "7"]),
    ])
    .await;
    let call = Call::cts(&["runs", "logs", "-attempt=2", "-o", "json", WHOLE]);
    let said = server.run(call, &[&first, &last, &log(false, 3)]).await;
    let part: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(part["position"], 6);
    assert_eq!(part["lines"].as_array().map(Vec::len), Some(3));
    let server = Conversation::with([refused(409, "the lines of attempt 2 are not known")]).await;
    let call = Call::cts(&["runs", "logs", "-attempt=2", WHOLE]);
    let said = server.run(call, &[&first]).await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stderr_has(["the lines of attempt 2 are not known"]);
}

#[tokio::test]
async fn found_lines_are_printed_with_their_numbers() {
    let found = |end: Value| {
        let line = json!({"position": 7, "stream": "stdout", "text": "a b"});
        let part = json!({"lines": [line], "searched_from": 7, "state": "searching"});
        let text = format!("{part}\n{end}\n");
        ScriptedAnswer::Text(200, "application/x-ndjson", text)
    };
    let end = |state: &str| json!({"lines": [], "searched_from": 3, "state": state});
    let request = format!("GET /v1/runs/{WHOLE}/log?format=ndjson&search=a+b&attempt=2");
    let run = async |end: Value| {
        let server = Conversation::with([found(end)]).await;
        let call = Call::cts(&["runs", "logs", "-search=a b", "-attempt=2", WHOLE]);
        server.run(call, &[&request]).await
    };
    let said = run(end("complete")).await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "7:a b\n"));
    assert_eq!(said.stderr, "");
    let said = run(end("timed_out")).await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "7:a b\n"));
    said.stderr_has(["Searched from line 3 only: 60 seconds are over."]);
    let said = run(end("searching")).await;
    said.stderr_has(["Searched from line 3 only: the search broke off."]);
}

#[tokio::test]
async fn a_plan_is_shown_and_a_missing_one_is_explained() {
    let path = format!("GET /v1/runs/{WHOLE}/plan");
    let value = |value: Value| json!({ "value": value });
    let plan = json!({
        "format_version": "1.2",
        "engine_version": "1.9.8",
        "extent": "all",
        "effect": "0af1",
        "counts": {"deleted": 1, "updated": 1, "unchanged": 7},
        "changes": [
            {"address": "pool.same", "action": "none"},
            {"address": "pool.web", "action": "update", "attributes": [
                {"path": "port", "before": value(json!(80)), "after": value(json!(81)), "changed": true},
                {"path": "token", "before": {"hidden": true}, "after": {"hidden": true}, "changed": false},
                {"path": "version", "before": value(json!(3)), "after": {"unknown": true}, "changed": true},
            ]},
            {"address": "pool.old\u{1b}[2J", "action": "delete"},
        ],
    });
    let answer = || ok(json!({ "plan": plan }));
    let server = Conversation::with([answer()]).await;
    let said = server
        .run(Call::cts(&["runs", "plan", WHOLE]), &[&path])
        .await;
    assert_snapshot!("runs_plan", said);
    let server = Conversation::with([answer()]).await;
    let call = Call::cts(&["runs", "plan", WHOLE, "-o", "json"]);
    let said = server.run(call, &[&path]).await;
    let shown: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(shown["changes"], plan["changes"]);
    let server = Conversation::with([refused(404, "the run has no plan as data")]).await;
    let call = Call::cts(&["runs", "plan", WHOLE]);
    let said = server.run(call, &[&path]).await;
    assert_snapshot!("runs_plan_missing", said);
}

#[tokio::test]
async fn the_input_of_a_run_is_shown_with_its_difference() {
    let path = format!("GET /v1/runs/{WHOLE}/input");
    let value = |value: Value| json!({ "value": value });
    let input = json!({
        "task_name": "web",
        "basis": "applied",
        "compared_with": "id-1",
        "items": [
            {"list": "services", "name": "web-1.n.dc1", "service": "web", "changed": true,
             "value": value(json!({"port": 81})), "before": value(json!({"port": 80}))},
            {"list": "variables", "name": "size", "value": value(json!(3))},
        ],
    });
    let answer = || ok(input.clone());
    for (options, expected) in [
        (
            &[][..],
            "Input of 'web':\n  services web-1.n.dc1 (web): port 81\n  variables size: 3\n",
        ),
        (
            &["-diff"],
            "Compared with run id-1, which applied 'web' before:\n  \
             ~ services web-1.n.dc1 (web): port 80 -> 81\n",
        ),
    ] {
        let server = Conversation::with([answer()]).await;
        let call = Call::cts(&[&["runs", "input", WHOLE], options].concat());
        let said = server.run(call, &[&path]).await;
        assert_eq!((said.code, said.stdout.as_str()), (Some(0), expected));
    }
    let server = Conversation::with([answer()]).await;
    let call = Call::cts(&["runs", "input", WHOLE, "-o", "json"]);
    let said = server.run(call, &[&path]).await;
    let shown: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(shown, input);
    let server = Conversation::with([refused(409, "run x has no input")]).await;
    let call = Call::cts(&["runs", "input", WHOLE]);
    let said = server.run(call, &[&path]).await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stderr_has(["unable to show the input of the run", "run x has no input"]);
}
