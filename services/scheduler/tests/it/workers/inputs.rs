//! Inputs of runs as data.

use std::sync::Arc;
use std::time::Duration;

use cts_core::callers::INPUTS_HIDDEN;
use cts_core::{KvQuery, ModuleInput, TaskSpec};
use cts_proto::run::v1 as run;
use cts_proto::run::v1::planned_value::Value as Shown;
use cts_proto::run::v1::{InputBasis, InputData, InputItem, PlannedValue};
use cts_proto::task::v1::RunMode;
use cts_scheduler::Options;
use cts_store::{Retention, Store as _};
use serde_json::{Value, json};
use tonic::{Code, Status};

use crate::calls::{applied, declared, failed};
use crate::setup::{Setup, instance, member, store_in, task};

const LONG: Duration = Duration::from_mins(1);

/// The task "t" on services, with keys and variables.
fn with_keys() -> TaskSpec {
    let mut task = task("t");
    let definition = &mut task.definition;
    definition.module_inputs = vec![ModuleInput::ConsulKv(KvQuery {
        path: "app".into(),
        recurse: true,
        ..KvQuery::default()
    })];
    let variables = [
        ("size", json!(3)),
        ("nested", json!({"api_token": "s3cret"})),
        ("source", json!("https://s3cret@git.example/x")),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    definition.variables = variables.into();
    task
}

async fn read(setup: &Setup, id: &str, without_values: bool) -> Result<InputData, Status> {
    let request = run::GetInputRequest {
        run_id: id.into(),
        without_values,
    };
    let answer = setup.plans.clone().get_input(request).await?;
    Ok(answer.into_inner().input.unwrap())
}

async fn shown(setup: &Setup, lease: &run::Lease) -> InputData {
    read(setup, &lease.run_id, false).await.unwrap()
}

fn json_of(value: Option<&PlannedValue>) -> Value {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Shown::Json(text)) => serde_json::from_str(text).unwrap(),
        Some(_) => json!("hidden"),
        None => Value::Null,
    }
}

/// List and name of each item, and whether it differs.
fn names(input: &InputData) -> Vec<(&str, &str, bool)> {
    let items = input.items.iter();
    items
        .map(|item| (&*item.list, &*item.name, item.changed))
        .collect()
}

fn item<'i>(input: &'i InputData, name: &str) -> &'i InputItem {
    input.items.iter().find(|item| item.name == name).unwrap()
}

#[tokio::test]
async fn an_input_is_compared_with_the_one_applied_before_its_run() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1), instance("x", 1)]);
    let first = setup.acquired().await;
    let input = shown(&setup, &first).await;
    assert_eq!(
        (input.basis(), &*input.compared_with),
        (InputBasis::None, "")
    );
    let same = |name| ("services", name, false);
    assert_eq!(names(&input), [same("w.n.dc1"), same("x.n.dc1")]);
    let value = json_of(item(&input, "w.n.dc1").value.as_ref());
    assert_eq!((&value["port"], &value["meta"]), (&json!(1), &json!({})));
    assert_eq!(item(&input, "w.n.dc1").service, "web");
    setup.applied(&first).await;

    setup
        .watcher
        .show(vec![instance("w", 2), instance("x", 1), instance("y", 1)]);
    let second = setup.acquired().await;
    setup.applied(&second).await;
    setup.watcher.show(vec![instance("w", 2)]);
    let third = setup.acquired().await;
    // The second run stays compared with the first, whatever was applied since.
    let input = shown(&setup, &second).await;
    assert_eq!(input.basis(), InputBasis::Applied);
    assert_eq!(input.compared_with, first.run_id);
    let expected = [
        ("services", "w.n.dc1", true),
        same("x.n.dc1"),
        ("services", "y.n.dc1", true),
    ];
    assert_eq!(names(&input), expected);
    let changed = item(&input, "w.n.dc1");
    let ports = [&changed.before, &changed.value].map(|it| json_of(it.as_ref())["port"].clone());
    assert_eq!(ports, [json!(1), json!(2)]);
    assert_eq!(item(&input, "y.n.dc1").before, None);

    let input = shown(&setup, &third).await;
    assert_eq!(input.compared_with, second.run_id);
    let gone = item(&input, "x.n.dc1");
    assert_eq!(
        (&gone.value, gone.changed, &*gone.service),
        (&None, true, "web")
    );
    assert_eq!(json_of(gone.before.as_ref())["id"], "x");
    // A failed attempt has applied nothing that counts.
    setup.complete(&third, failed("no")).await.unwrap();
    assert_eq!(shown(&setup, &third).await.compared_with, second.run_id);
}

#[tokio::test]
async fn secrets_are_hidden_and_values_only_for_callers_who_may_see_them() {
    let setup = Setup::new(vec![with_keys()], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup.shows(&[
        ("app/color", Some("red")),
        ("app/db/password", Some("s3cret")),
        ("app/file", Some("{\"secret\": \"s3cret\"}")),
    ]);
    let lease = setup.acquired().await;
    let input = shown(&setup, &lease).await;
    let values = [
        "app/color",
        "app/db/password",
        "app/file",
        "nested",
        "size",
        "source",
    ];
    let values = values.map(|name| json_of(item(&input, name).value.as_ref()));
    let expected = [
        json!("red"),
        json!("hidden"),
        json!("hidden"),
        json!("hidden"),
        json!(3),
        json!("https://(hidden)@git.example/x"),
    ];
    assert_eq!(values, expected);
    assert_eq!(input.values_hidden, "");

    let hidden = read(&setup, &lease.run_id, true).await.unwrap();
    assert_eq!(hidden.values_hidden, INPUTS_HIDDEN);
    assert_eq!(names(&hidden), names(&input));
    let values = hidden.items.iter().map(|it| json_of(it.value.as_ref()));
    assert!(values.into_iter().all(|value| value == "hidden"));
    setup.applied(&lease).await;
    setup.shows(&[
        ("app/color", Some("blue")),
        ("app/db/password", Some("0ther")),
    ]);
    setup.watcher.show(vec![instance("w", 2)]);
    let lease = setup.acquired().await;
    let input = read(&setup, &lease.run_id, true).await.unwrap();
    for name in ["app/color", "app/db/password", "app/file", "w.n.dc1"] {
        assert!(item(&input, name).changed, "{name}");
    }
    assert!(!format!("{input:?}").contains("blue"), "{input:?}");
}

#[tokio::test]
async fn a_removed_run_is_not_mistaken_for_none() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let options = Options::alone(vec![task("t")], member());
    let setup = Setup::over(Arc::clone(&store), options).await;
    let mut runs = Vec::new();
    for port in 1..=7 {
        setup.watcher.show(vec![instance("w", port)]);
        let lease = setup.acquired().await;
        setup.complete(&lease, applied()).await.unwrap();
        runs.push(lease);
    }
    assert_eq!(store.prune(Retention::of_any_age(5)).await.unwrap(), 2);
    let input = shown(&setup, &runs[2]).await;
    assert_eq!(
        (input.basis(), &*input.compared_with),
        (InputBasis::NotKept, "")
    );
    assert_eq!(names(&input), [("services", "w.n.dc1", false)]);
    let cause = setup.run(&runs[2].run_id).await.unwrap().cause;
    let is_first = |line: &String| line.contains("not applied before");
    assert!(!cause.iter().any(is_first), "{cause:?}");
    let input = shown(&setup, &runs[3]).await;
    assert_eq!(input.compared_with, runs[2].run_id);
    let pruned = read(&setup, &runs[1].run_id, false).await.unwrap_err();
    assert_eq!(pruned.code(), Code::NotFound);
}

#[tokio::test]
async fn a_request_has_no_input_yet_and_no_id_is_refused() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.hide("web");
    let requested = setup.update("t", Some(true), RunMode::Request).await;
    let id = requested.unwrap().requested_run_id;
    for (id, code) in [(&*id, Code::NotFound), ("no-id", Code::InvalidArgument)] {
        let refused = read(&setup, id, false).await.unwrap_err();
        assert_eq!(refused.code(), code, "{refused}");
    }
}

#[tokio::test]
async fn a_requested_run_is_not_waited_for() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    setup.applied(&lease).await;
    let update = setup.update("t", Some(true), RunMode::Request).await;
    let requested = update.unwrap().requested_run_id;
    let lease = setup.acquired().await;
    assert_eq!(lease.run_id, requested);
    setup.applied(&lease).await;
    let run = setup.run(&requested).await.unwrap();
    assert_eq!((run.no_retry, run.attempts), (true, 1), "{run:?}");

    let replace = setup.replace("t", declared("t"), 0, RunMode::Request);
    let requested = replace.await.unwrap().requested_run_id;
    let lease = setup.acquired().await;
    assert_eq!(
        (&*lease.run_id, lease.kind()),
        (&*requested, run::RunKind::Apply)
    );
    setup.applied(&lease).await;
    let off = setup.update("t", Some(false), RunMode::Request).await;
    assert_eq!(off.unwrap().requested_run_id, "");
}
