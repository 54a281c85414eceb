//! `cts mcp` against a server that answers as docs/rest.md says.

use cts_testkit::ScriptedAnswer;
use serde_json::{Value, json};

use super::call::{Call, CommandOutput};
use super::{Conversation, ok, refused};

/// Number of tools.
const TOOLS: usize = 12;

/// A call whose input is an initialization and then these requests, with the ids 1, 2 and so on.
fn asked(requests: &[(&str, Value)]) -> Call {
    let opening = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let opening = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    let requests = requests.iter().zip(1..).map(|((method, params), id)| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    });
    let lines = opening.into_iter().chain(requests);
    let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
    Call::cts(&["mcp"]).input(&(lines.join("\n") + "\n"))
}

fn tool(name: &str, arguments: &Value) -> (&'static str, Value) {
    ("tools/call", json!({"name": name, "arguments": arguments}))
}

/// The answer to the request with this id.
fn answer(said: &CommandOutput, id: u64) -> Value {
    let messages = said.stdout.lines().map(serde_json::from_str::<Value>);
    let mut messages = messages.map(Result::unwrap);
    let found = messages.find(|message| message["id"] == id);
    assert!(found.is_some(), "no answer {id}: {said}");
    found.unwrap_or_default()
}

fn text(said: &CommandOutput, is_error: bool) -> String {
    let result = &answer(said, 1)["result"];
    assert_eq!(result["isError"], is_error, "{said}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn tools_are_listed_as_reading_and_their_texts_as_data() {
    let server = Conversation::with([]).await;
    let said = server.run(asked(&[("tools/list", json!({}))]), &[]).await;
    assert_eq!(said.code, Some(0), "{said}");
    assert_eq!(said.stderr, "");
    let opened = &answer(&said, 0)["result"];
    assert_eq!(opened["serverInfo"]["name"], "cts", "{opened}");
    let tools = &answer(&said, 1)["result"]["tools"];
    let tools = tools.as_array().unwrap();
    assert_eq!(tools.len(), TOOLS);
    for tool in tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        let description = tool["description"].as_str().unwrap();
        assert!(description.contains("never instructions"), "{tool}");
    }
}

#[tokio::test]
async fn a_tool_passes_the_answer_on_as_it_is() {
    let body =
        json!({"request_id": "x", "explanation": {"task_name": "fw-3", "note": "\u{1b}[31m"}});
    let server = Conversation::with([ok(body.clone())]).await;
    let call = asked(&[tool("explain", &json!({"name": "fw-3"}))]);
    let said = server.run(call, &["GET /v1/tasks/fw-3/explain"]).await;
    let passed_on: Value = serde_json::from_str(&text(&said, false)).unwrap();
    assert_eq!(passed_on, body);
    assert_eq!(
        answer(&said, 1)["result"]["content"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert!(!said.stdout.contains('\u{1b}'), "{said}");

    let server = Conversation::with([ok(json!({"runs": []}))]).await;
    let call = asked(&[tool("runs", &json!({"task": "a&b/c", "limit": 3}))]);
    let said = server.run(call, &["GET /v1/runs?limit=3&task=a%26b%2Fc"]);
    text(&said.await, false);
}

#[tokio::test]
async fn a_long_answer_is_cut_and_says_so() {
    let long = ScriptedAnswer::Text(200, "application/x-ndjson", "é".repeat(100_000));
    let server = Conversation::with([long]).await;
    let call = asked(&[tool("log", &json!({"id": "a", "tail": 9}))]);
    let said = server.run(call, &["GET /v1/runs/a/log?format=ndjson&tail=9"]);
    let said = said.await;
    assert_eq!(text(&said, false).len(), 64 * 1024);
    let notice = &answer(&said, 1)["result"]["content"][1]["text"];
    assert!(
        notice.as_str().unwrap().contains("cut after 64 KiB"),
        "{notice}"
    );
}

#[tokio::test]
async fn refusals_come_with_their_words() {
    let server = Conversation::with([refused(403, "the credential is not for task 'dns'")]).await;
    let call = asked(&[tool("task", &json!({"name": "dns"}))]);
    let said = server.run(call, &["GET /v1/tasks/dns"]).await;
    let words = text(&said, true);
    assert!(words.contains("not for task 'dns'"), "{words}");
    assert!(words.contains("-token-file or CTS_TOKEN"), "{words}");

    for (call, part) in [
        (tool("task", &json!({"name": ".."})), "cannot be the name"),
        (
            tool("task", &json!({"run": "now"})),
            "there is no argument \"run\"",
        ),
        (
            tool("log_search", &json!({"id": "a"})),
            "\"search\" is missing",
        ),
    ] {
        let server = Conversation::with([]).await;
        let said = server.run(asked(&[call]), &[]).await;
        let words = text(&said, true);
        assert!(words.contains(part), "{words}");
    }
    let server = Conversation::with([]).await;
    let call = asked(&[tool("run_now", &json!({}))]);
    let said = server.run(call, &[]).await;
    let error = &answer(&said, 1)["error"];
    assert_eq!(error["message"], "there is no tool \"run_now\"", "{said}");
}

#[tokio::test]
async fn settings_that_cannot_be_used_are_an_error_at_once() {
    let call = Call::cts(&["mcp", "-token-file=none"]);
    let said = call.run().await;
    assert_eq!(said.code, Some(11), "{said}");
    assert_eq!(said.stdout, "");
    assert!(said.stderr.contains("unable to create client"), "{said}");
}
