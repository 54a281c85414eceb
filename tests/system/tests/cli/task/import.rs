//! `cts import`: from a server that answers as the original does, and from a real cts to a real cts.

use cts_testkit::{Authority, ConsulAgent, ScriptedAnswer, ScriptedHttp, assert_contains};
use cts_tests::{Backend, Instance, RECORDER, Site, task as block};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::call::{Call, CommandOutput};
use super::{ok, refused};

/// A task as the original answers it.
fn task(name: &str, more: &Value) -> Value {
    let mut task = json!({
        "condition": {"services": {
            "cts_user_defined_meta": {}, "datacenter": "", "filter": "", "names": ["web"],
            "namespace": "", "use_as_module_input": true,
        }},
        "description": "",
        "enabled": true,
        "module": "acme/lb/cts",
        "module_input": {},
        "name": name,
        "providers": [],
        "variables": {},
        "version": "",
    });
    for (member, value) in more.as_object().unwrap() {
        task[member] = value.clone();
    }
    task
}

fn tasks(tasks: &[Value]) -> ScriptedAnswer {
    ok(json!({"request_id": super::REQUEST_ID, "tasks": tasks}))
}

fn created(name: &str) -> ScriptedAnswer {
    let task = task(name, &json!({}));
    ScriptedAnswer::Json(201, json!({"request_id": super::REQUEST_ID, "task": task}))
}

/// Imports, checks that these requests arrive here, and returns the output.
async fn import(
    source: ScriptedAnswer,
    here: Vec<ScriptedAnswer>,
    options: &[&str],
    requests: &[&str],
) -> CommandOutput {
    let source = ScriptedHttp::start([source]).await;
    let here = ScriptedHttp::start(here).await;
    let from = format!("http://{}", source.address());
    let arguments = [&["import", "--from", &from], options].concat();
    let call = Call::cts(&arguments).variable("CTS_ADDRESS", format!("http://{}", here.address()));
    let said = call.run().await;
    assert_eq!(source.lines(), ["GET /v1/tasks"], "{said}");
    let lines = here.lines();
    let asked: Vec<&str> = lines
        .iter()
        .map(|line| line.split(" {").next().unwrap())
        .collect();
    assert_eq!(asked, requests, "{said}");
    said.replace(&source.address().to_string(), "SOURCE")
        .replace(&here.address().to_string(), "HERE")
}

const LIST: &str = "GET /v1/tasks";
const CREATE: &str = "POST /v1/tasks?run=now";

#[tokio::test]
async fn every_task_is_created_or_compared() {
    let nothing = json!({});
    let source = tasks(&[
        task("fresh", &nothing),
        task("here", &nothing),
        task(
            "other",
            &json!({"variables": {"region": "\"eu\""}, "version": "1.0.0"}),
        ),
        task(
            "cloud",
            &json!({"terraform_cloud_workspace": {"execution_mode": "agent"}, "owner": "net"}),
        ),
        task("bad", &json!({"module": "./modules/bad"})),
        task("fresh", &nothing),
    ]);
    let here = vec![
        tasks(&[
            // Without values at their defaults.
            json!({"name": "here", "enabled": true, "module": "acme/lb/cts",
                "condition": {"services": {"names": ["web"]}}}),
            task("other", &json!({"variables": {"region": "\"us\""}})),
        ]),
        created("fresh"),
        refused(
            500,
            "error creating task 'bad': \u{1b}[31mno module\nat all",
        ),
    ];
    let said = import(source, here, &[], &[LIST, CREATE, CREATE]).await;
    assert_eq!(said.code, Some(11), "{said}");
    assert_snapshot!(said);
}

#[tokio::test]
async fn a_task_of_which_the_source_hides_something_is_not_imported() {
    let source = tasks(&[
        task(
            "masked",
            &json!({"module": "git::https://(hidden)@h/x.git", "variables": {"password": "(hidden)"}}),
        ),
        task("told", &json!({"module": "git::https://a-token@h/x.git"})),
    ]);
    // The task here is shown without it.
    let here = vec![tasks(&[task(
        "told",
        &json!({"module": "git::https://(hidden)@h/x.git"}),
    )])];
    let said = import(source, here, &["-o", "json"], &[LIST]).await;
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(
        document["counts"],
        json!({"failed": 1, "same": 1}),
        "{said}"
    );
    let reason = document["tasks"][0]["reason"].as_str().unwrap();
    assert_contains(
        &reason,
        ["the source does not tell its secrets (module, variable password)"],
    );
    assert!(!said.stdout.contains("a-token"), "{said}");
}

#[tokio::test]
async fn every_member_that_cts_shows_is_imported() {
    let document = include_str!("../../../../../services/gateway/openapi.yaml");
    let document: Value = serde_norway::from_str(document).unwrap();
    let schema = document["components"]["schemas"]["Task"]["properties"].as_object();
    let members = json!({
        "approval": "destroy",
        "buffer_period": {"enabled": true, "max": "20s", "min": "5s"},
        "on_delete": "destroy",
        "outputs": ["address"],
        "terraform_cloud_workspace": {"execution_mode": "agent"},
        "terraform_version": "~> 1.11",
    });
    let full = task("full", &members);
    let mut shown: Vec<&String> = schema.unwrap().keys().collect();
    // Only a task that is being deleted has it.
    shown.retain(|name| *name != "destruction");
    assert_eq!(full.as_object().unwrap().keys().collect::<Vec<_>>(), shown);
    let source = tasks(&[
        full.clone(),
        task("going", &json!({"destruction": "suspended"})),
    ]);
    let from = ScriptedHttp::start([source]).await;
    let here = ScriptedHttp::start(vec![tasks(&[]), created("full")]).await;
    let url = format!("http://{}", from.address());
    let call = Call::cts(&["import", "--from", &url]);
    let said = call
        .variable("CTS_ADDRESS", format!("http://{}", here.address()))
        .run()
        .await;
    said.stderr_has(["'going' is not imported: it is being deleted at the source"]);
    let lines = here.lines();
    let sent = lines[1].strip_prefix(CREATE).unwrap();
    let mut sent: Value = serde_json::from_str(sent.trim()).unwrap();
    if let Some(task) = sent.get_mut("task") {
        sent = task.take();
    }
    assert_eq!(sent, full);
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let source = tasks(&[
        task("fresh", &json!({})),
        task("other", &json!({"description": "new"})),
    ]);
    let here = vec![tasks(&[task("other", &json!({}))])];
    let options = ["--dry-run", "--replace", "-o", "json"];
    let said = import(source, here, &options, &[LIST]).await;
    assert_eq!(said.code, Some(0), "{said}");
    let mut document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(document["source"].take(), "http://SOURCE");
    let difference = json!({"member": "description", "source": "new", "here": null});
    let expected = json!({
        "source": null,
        "dry_run": true,
        "counts": {"to_create": 1, "to_replace": 1},
        "tasks": [
            {"name": "fresh", "result": "to_create", "reason": null, "differences": []},
            {"name": "other", "result": "to_replace", "reason": null, "differences": [difference]},
        ],
    });
    assert_eq!(document, expected);
}

#[tokio::test]
async fn tasks_can_be_created_disabled_and_replaced() {
    let source = ScriptedHttp::start([tasks(&[
        task(
            "fresh",
            &json!({"buffer_period": {"min": "5s", "max": "0s"}}),
        ),
        task("off", &json!({})),
        task("other", &json!({"description": "new"})),
    ])])
    .await;
    let replaced = ok(json!({"task": task("other", &json!({})), "revision": 2}));
    let here = ScriptedHttp::start([
        tasks(&[
            task("off", &json!({"enabled": false})),
            task("other", &json!({})),
        ]),
        created("fresh"),
        replaced,
    ])
    .await;
    let from = format!("http://{}", source.address());
    let said = Call::cts(&["import", "--from", &from, "--disabled", "--replace"])
        .variable("CTS_ADDRESS", format!("http://{}", here.address()))
        .run()
        .await;
    assert_eq!(said.code, Some(0), "{said}");
    let requests = here.requests();
    let sent = |index: usize| serde_json::from_str::<Value>(&requests[index].body).unwrap();
    assert_eq!(requests[1].line, CREATE);
    let expected = json!({"buffer_period": {"min": "5s", "max": "0s"}, "enabled": false});
    assert_eq!(sent(1), json!({"task": task("fresh", &expected)}));
    assert_eq!(requests[2].line, "PUT /v1/tasks/other?run=now");
    assert_eq!(requests[2].header("if-match"), Some("*"));
    assert_eq!(sent(2)["task"]["enabled"], false);
    assert_eq!(requests.len(), 3);
    said.stderr_has(["buffer_period is 5s to 5s here"]);
    let rows = "fresh  created\noff    same\nother  replaced  description\n";
    assert!(said.stdout.ends_with(rows), "{said}");
}

#[tokio::test]
async fn import_stops_when_the_server_no_longer_answers() {
    let source = tasks(&[task("a", &json!({})), task("b", &json!({}))]);
    let here = vec![tasks(&[]), ScriptedAnswer::Close];
    let said = import(source, here, &[], &[LIST, CREATE]).await;
    assert_eq!(said.code, Some(11), "{said}");
    said.stdout_has(["b     failed  not tried: no answer"]);
    let failed = "Error: not here as at the source: 2 of 2";
    assert!(said.stderr.contains(failed), "{said}");
}

#[tokio::test]
async fn a_source_that_is_none_is_refused() {
    let odd = json!({"name": "\u{1b}[2Jx\ny", "module": 7});
    let answers = [
        (
            ScriptedAnswer::Text(200, "text/html", "<html>\u{1b}[2J".into()),
            "not one of the API",
        ),
        (ok(json!({"tasks": [odd]})), "invalid type: integer `7`"),
        (ok(json!({"nodes": []})), "missing field `tasks`"),
        (
            ScriptedAnswer::Redirect(302, "http://elsewhere/".into()),
            "redirects to http://elsewhere/",
        ),
        (
            refused(503, "not well"),
            "503 Service Unavailable: not well",
        ),
    ];
    for (answer, text) in answers {
        let source = ScriptedHttp::start([answer]).await;
        let from = format!("http://{}", source.address());
        let said = Call::cts(&["import", "--from", &from]).run().await;
        assert_eq!(said.code, Some(11), "{said}");
        said.stderr_has(["unable to read the tasks to import"]);
        // Lines are as wide as a terminal.
        let unwrapped = said.stderr.replace('\n', " ");
        assert!(unwrapped.contains(text), "{text} in {said}");
        assert!(!said.stderr.contains('\u{1b}'), "{said}");
        assert_eq!(said.stdout, "");
    }
    let missing = Call::cts(&["import"]).run().await;
    assert_eq!(missing.code, Some(13), "{missing}");
    let certificate = [
        "import",
        "--from",
        "https://x",
        "--from-client-cert",
        "c.pem",
    ];
    let said = Call::cts(&certificate).run().await;
    assert_eq!(said.code, Some(11), "{said}");
    assert!(said.stderr.contains("client for the source"), "{said}");
}

#[tokio::test]
async fn the_source_can_have_tls() {
    let authority = Authority::new();
    let files = tempfile::tempdir().unwrap();
    let pair = authority.write_pair(files.path(), "server", &["localhost"]);
    let import = async |more: &[&str]| {
        let script = [tasks(&[])];
        let source = ScriptedHttp::start_tls(script, pair.acceptor(Some(&authority))).await;
        let here = ScriptedHttp::start([tasks(&[])]).await;
        let from = format!("https://localhost:{}", source.address().port());
        let call = Call::cts(&[&["import", "--from", &from], more].concat())
            .variable("CTS_ADDRESS", format!("http://{}", here.address()))
            .variable("CTS_SSL_VERIFY", "false")
            .file("ca.pem", authority.pem());
        authority.write_pair(call.directory(), "client", &["client"]);
        call.run().await
    };
    let certificate = [
        "--from-client-cert=client.pem",
        "--from-client-key=client-key.pem",
    ];
    let trusted = [&certificate[..], &["--from-ca-cert=ca.pem"]].concat();
    let said = import(&trusted).await;
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.stderr.contains("The source has no tasks."), "{said}");
    let unchecked = [&certificate[..], &["--from-ssl-verify=false"]].concat();
    assert_eq!(import(&unchecked).await.code, Some(0));
    // The environment variables are about the API here.
    let said = import(&certificate).await;
    assert_eq!(said.code, Some(11), "{said}");
}

#[tokio::test]
async fn hostile_texts_are_shown_escaped() {
    let source = tasks(&[task("\u{1b}[2Jx\ny", &json!({"\u{9b}m": 1}))]);
    let said = import(source, vec![tasks(&[])], &[], &[LIST]).await;
    assert_eq!(said.code, Some(11), "{said}");
    assert_snapshot!(said);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_cts_is_moved_to_another() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let (old, new) = (Site::new(), Site::new());
    old.write("modules/recorder/main.tf", RECORDER);
    let module = old.path().join("modules/recorder");
    let module = module.to_str().unwrap();
    let output = "output \"id\" {\n  value = terraform_data.recorded.id\n}\n";
    old.write("modules/told/main.tf", &format!("{RECORDER}\n{output}"));
    let told = old.path().join("modules/told");
    let told = told.to_str().unwrap();
    let blocks = [
        block("pool", module, &["web"], "description = \"pool\""),
        block(
            "idle",
            told,
            &["web"],
            "enabled = false\n outputs = [\"id\"]\n on_delete = \"destroy\"",
        ),
        block("near", "./modules/recorder", &["web"], ""),
        format!(
            "task {{\n name = \"nightly\"\n module = \"{module}\"\n enabled = false\n \
             condition \"schedule\" {{ cron = \"0 4 * * *\" }}\n \
             module_input \"services\" {{ regexp = \"^web\" }}\n }}\n"
        ),
    ];
    old.configure(&consul.address(), Backend::Local, &blocks.concat());
    // Modules that clients name have to be in a module root.
    let roots = format!("module_roots = [{:?}, \".\"]\n", old.path());
    new.configure(&consul.address(), Backend::Local, &roots);
    let old_instance = Instance::start_embedded(&old).await;
    old_instance.api.wait_for_events("pool", 1).await;
    let instance = Instance::start_embedded(&new).await;
    let from = old_instance.api.url("");
    let cts = async |more: &[&str]| {
        let arguments = [&["import", "--from", &from], more].concat();
        let call = Call::cts(&arguments).variable("CTS_ADDRESS", instance.api.url(""));
        call.run().await
    };

    let said = cts(&["--dry-run"]).await;
    assert_eq!(said.code, Some(0), "{said}");
    assert_eq!(instance.api.get("/v1/tasks").await["tasks"], json!([]));
    let said = cts(&[]).await;
    // The relative module is not where this one runs, which was said before.
    assert_eq!(said.code, Some(11), "{said}");
    said.stderr_has(["'near': warning: the module ./modules/recorder"]);
    assert!(said.stdout.contains("near     failed"), "{said}");
    assert_eq!(instance.api.wait_for_events("pool", 1).await.len(), 1);
    new.wait_for_ids("pool", &["web-1"]).await;

    // Once more, with the module in its place.
    new.write("modules/recorder/main.tf", RECORDER);
    let said = cts(&["-o", "json"]).await;
    assert_eq!(said.code, Some(0), "{said}");
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(document["counts"], json!({"created": 1, "same": 3}));
    let (old_tasks, new_tasks) = (
        old_instance.api.get("/v1/tasks").await,
        instance.api.get("/v1/tasks").await,
    );
    for task in old_tasks["tasks"].as_array().unwrap() {
        let there = new_tasks["tasks"].as_array().unwrap();
        assert!(there.contains(task), "{task} in {there:?}");
    }
    instance.stop().await;
    old_instance.stop().await;
}
