//! `cts mcp` with a real cts, and tokens for all tasks or for some (docs/mcp.md).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use cts_testkit::{assert_contains, eventually};
use cts_tests::{DEADLINE, executable, met, task as block};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::{records, scene_of, token};
use crate::api::scene::{MODULE, Scene};

/// A variable with the path of a file for the transcript in docs/mcp.md.
const TRANSCRIPT: &str = "CTS_TEST_TRANSCRIPT";

const GUARDED: &str = "min_instances = 2\nmax_shrink = \"50%\"\nbuffer_period { min = \"1s\" }";

/// The client of a running `cts mcp`.
struct Assistant {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    id: u64,
    transcript: String,
}

impl Assistant {
    /// Starts with the token in this file of the site.
    async fn start(scene: &Scene, file: &str) -> Self {
        let mut child = Command::new(executable("cts"))
            .args(["mcp", "-token-file", file])
            .current_dir(scene.site.path())
            .env_clear()
            .env("CTS_ADDRESS", scene.instance.api.url(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut assistant = Self {
            child,
            input,
            output,
            id: 0,
            transcript: String::new(),
        };
        let client = json!({"name": "test", "version": "1"});
        let opening = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client,
        });
        let opened = assistant.ask("initialize", &opening).await;
        assert_eq!(opened["serverInfo"]["name"], "cts", "{opened}");
        let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assistant.send(&begun).await;
        assistant
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    /// The result of a request.
    async fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let id = self.id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        let line = timeout(DEADLINE, self.output.next_line()).await.unwrap();
        let mut answer: Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].take()
    }

    /// The text of a tool's answer, and whether it is an error.
    async fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let params = json!({"name": tool, "arguments": arguments});
        let result = self.ask("tools/call", &params).await;
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        (text, result["isError"].as_bool().unwrap())
    }

    /// The document that a tool answers.
    async fn read(&mut self, tool: &str, arguments: &Value) -> Value {
        let (text, is_error) = self.call(tool, arguments).await;
        assert!(!is_error, "{tool}: {text}");
        let mut document: Value = serde_json::from_str(&text).unwrap();
        if let Some(members) = document.as_object_mut() {
            members.remove("request_id");
        }
        let (arguments, answer) = (arguments.to_string(), format!("{document:#}"));
        let parts = ["-> ", tool, " ", &arguments, "\n<- ", &answer, "\n\n"];
        self.transcript.extend(parts);
        document
    }

    /// The words of a tool's failure.
    async fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let (text, is_error) = self.call(tool, arguments).await;
        assert!(is_error, "{tool}: {text}");
        text
    }

    /// Ends the input, as assistants end a server.
    async fn end(mut self) {
        drop(self.input);
        let ended = timeout(DEADLINE, self.child.wait()).await.unwrap();
        assert!(ended.unwrap().success());
    }
}

fn write_token(scene: &Scene, file: &str, token: &str) {
    let path = scene.site.path().join(file);
    fs::write(&path, format!("{token}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn names(tasks: &Value) -> Vec<&str> {
    let tasks = tasks["tasks"].as_array().unwrap().iter();
    tasks.filter_map(|task| task["name"].as_str()).collect()
}

/// The tasks `fw-3`, which is blocked because it lost three of four instances, and `lb-1`.
async fn blocked() -> Scene {
    let tasks = block("fw-3", MODULE, &["web"], GUARDED) + &block("lb-1", MODULE, &["web"], "");
    let scene = scene_of(&tasks).await;
    for number in 2..=4 {
        scene.register("web", &format!("web-{number}")).await;
    }
    let all = ["web-1", "web-2", "web-3", "web-4"];
    for task in ["fw-3", "lb-1"] {
        scene.site.wait_for_ids(task, &all).await;
    }
    for number in 2..=4 {
        scene.consul.deregister(&format!("web-{number}")).await;
    }
    scene.site.wait_for_ids("lb-1", &["web-1"]).await;
    scene
}

#[tokio::test]
async fn an_assistant_finds_out_why_a_task_did_not_run() {
    let scene = blocked().await;
    let reader = token(&scene, "assistant", "read", &[]).await;
    write_token(&scene, "assistant.token", &reader);
    let mut assistant = Assistant::start(&scene, "assistant.token").await;
    let fw = json!({"name": "fw-3"});
    eventually(DEADLINE, async || {
        let (text, _is_error) = assistant.call("explain", &fw).await;
        met(text.contains("web has 1 of the 4 instances"), text)
    })
    .await;

    let explained = assistant.read("explain", &fw).await;
    let obstacle = &explained["explanation"]["obstacles"][0];
    assert_eq!(obstacle["kind"], "held", "{explained}");
    let causes = assistant.read("causes", &json!({"limit": 2})).await;
    let lines = causes["causes"][0]["lines"].to_string();
    assert!(lines.contains("web"), "{causes}");
    let query = json!({"task": "fw-3", "limit": 1});
    let runs = assistant.read("runs", &query).await;
    let run = json!({"id": runs["runs"][0]["id"]});
    let tail = json!({"id": run["id"], "tail": 9});
    let log = assistant.read("log", &tail).await;
    let lines = log["lines"].as_array().unwrap();
    let is_end = |line: &&Value| line["text"].as_str().unwrap().contains("Apply complete!");
    let position = &lines.iter().find(is_end).unwrap()["position"];
    if let Some(path) = std::env::var_os(TRANSCRIPT) {
        fs::write(path, assistant.transcript.trim_end()).unwrap();
    }

    let around = json!({"id": run["id"], "around": position, "limit": 1});
    let window = assistant.read("log_around", &around).await;
    assert_eq!(window["lines"][0]["position"], *position, "{window}");
    let search = json!({"id": run["id"], "search": "Apply complete!"});
    let (found, is_error) = assistant.call("log_search", &search).await;
    assert!(!is_error, "{found}");
    assert_contains(&found, ["Apply complete!", "\"complete\""]);
    let full = assistant.read("run", &run).await;
    assert_eq!(full["run"]["attempts"], 1, "{full}");
    let task = assistant.read("task", &fw).await;
    assert_eq!(task["task"]["module"], MODULE, "{task}");
    let tasks = assistant.read("tasks", &json!({})).await;
    assert_eq!(names(&tasks), ["fw-3", "lb-1"]);
    let query = json!({"search": "FW", "state": "blocked"});
    let found = assistant.read("tasks", &query).await;
    assert_eq!(names(&found), ["fw-3"]);
    let status = assistant.read("status", &json!({})).await;
    assert!(status["problems"].to_string().contains("fw-3"), "{status}");
    let times = assistant.read("times", &json!({"since": "1h"})).await;
    assert_eq!(times["interval_seconds"], 60, "{times}");
    let plan = assistant.refused("plan", &run).await;
    assert!(plan.contains("404"), "{plan}");
    let page = assistant.refused("tasks", &json!({"page": 0})).await;
    assert!(page.contains("400"), "{page}");
    assistant.end().await;
    scene.instance.stop().await;
}

#[tokio::test]
async fn an_assistant_sees_what_its_token_sees_and_changes_nothing() {
    let scene = blocked().await;
    let admin = token(&scene, "root", "admin", &[]).await;
    let own = token(&scene, "assistant", "operate", &["-tasks", "fw-*"]).await;
    write_token(&scene, "assistant.token", &own);
    let mut assistant = Assistant::start(&scene, "assistant.token").await;
    let runs = assistant.read("runs", &json!({})).await;
    let run = json!({"id": runs["runs"][0]["id"]});
    let fw = json!({"name": "fw-3"});
    let mut texts = Vec::new();
    for (tool, arguments) in [
        ("status", json!({})),
        ("tasks", json!({})),
        ("task", fw.clone()),
        ("explain", fw),
        ("causes", json!({})),
        ("runs", json!({})),
        ("run", run.clone()),
        ("log", run),
    ] {
        let (text, is_error) = assistant.call(tool, &arguments).await;
        assert!(!is_error, "{tool}: {text}");
        texts.push(text);
    }
    let lb = json!({"name": "lb-1"});
    for (tool, arguments) in [("task", &lb), ("explain", &lb), ("times", &json!({}))] {
        let words = assistant.refused(tool, arguments).await;
        assert!(words.contains("403 Forbidden"), "{tool}: {words}");
    }
    for text in texts {
        assert!(!text.contains("lb-1"), "{text}");
    }
    // No call has changed anything: what is recorded is refused.
    let made = records(&scene, &admin).await.into_iter();
    let made = made.filter(|record| record["caller"] == "assistant");
    let made: Vec<_> = made
        .filter(|record| record["outcome"] != "refused")
        .collect();
    assert_eq!(made, Vec::<Value>::new());

    // The file of the token is read again for each call.
    write_token(&scene, "assistant.token", &admin);
    assistant.read("task", &lb).await;
    write_token(&scene, "assistant.token", "cts_none");
    let words = assistant.refused("task", &lb).await;
    assert!(words.contains("401 Unauthorized"), "{words}");
    assistant.end().await;
    scene.instance.stop().await;
}
