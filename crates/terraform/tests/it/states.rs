//! States that are read, and moved from backend to backend (docs/terraform.md#moving-a-state).

use std::fs;
use std::path::Path;

use cts_core::state::TerraformState;
use cts_core::{Backend, ModuleInterface, TaskName};
use cts_terraform::{
    Attempt, BackendIdentity, FoundState, ReadState, StateOrigin, Terraform, consul_key,
    read_consul_value, read_directly, render_root_module,
};
use cts_testkit::{ConsulAgent, ObjectStore};
use serde_json::json;

use crate::backends::{BUCKET, backend, postgres, s3};
use crate::fixture::{KEEPS_SERVICES, Sandbox, instance};

fn local(directory: &str) -> Backend {
    backend("local", json!({ "workspace_dir": directory }))
}

fn consul(agent: &ConsulAgent) -> Backend {
    let path = "states/cts";
    backend(
        "consul",
        json!({ "address": agent.address(), "path": path, "gzip": true }),
    )
}

fn origin(backend: &Backend, workspace: &str) -> StateOrigin {
    StateOrigin {
        backend: backend.clone(),
        workspace: TaskName::new(workspace).unwrap(),
        environment: Vec::new(),
    }
}

/// Initialises the directory for a backend.
async fn prepare(sandbox: &mut Sandbox, backend: &Backend) -> Attempt {
    sandbox.settings.backend = backend.clone();
    let (attempt, _lines) = sandbox.prepared(vec![instance("a", "x")]).await;
    attempt
}

async fn found(sandbox: &Sandbox, attempt: &Attempt) -> Option<FoundState> {
    sandbox.terraform.pull_state(attempt).await.unwrap()
}

/// `after` is `before` in another backend; many of them count the push as a change.
fn assert_moved(before: &TerraformState, after: &TerraformState) {
    assert_eq!(before.lineage, after.lineage);
    assert_eq!(before.resources, after.resources);
    let serials = before.serial..=before.serial + 1;
    assert!(serials.contains(&after.serial), "{before:?} {after:?}");
}

fn scratch(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".cts")).collect()
}

#[tokio::test]
async fn a_changed_backend_gets_nothing_by_itself_and_the_one_before_is_remembered() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let attempt = prepare(&mut sandbox, &local("before")).await;
    sandbox.terraform.apply(&attempt).await.unwrap();
    let before = BackendIdentity::of(&attempt, &local("before"));
    assert!(!Terraform::is_verified(&attempt, before, 0));
    Terraform::set_verified(&attempt, before, 0).unwrap();
    assert!(Terraform::is_verified(&attempt, before, 0));
    assert!(!Terraform::is_verified(&attempt, before, 1));
    assert_eq!(Terraform::previous_backend(&attempt).unwrap(), None);

    for (after, previous) in [
        ("after", Some("before")),
        ("third", Some("before")),
        ("before", None),
    ] {
        let attempt = prepare(&mut sandbox, &local(after)).await;
        let kept = Terraform::previous_backend(&attempt).unwrap();
        assert_eq!(kept, previous.map(local), "the last one that was verified");
        if previous.is_some() {
            assert_eq!(found(&sandbox, &attempt).await, None);
            let identity = BackendIdentity::of(&attempt, &local(after));
            assert!(!Terraform::is_verified(&attempt, identity, 0));
        }
    }
    assert!(found(&sandbox, &attempt).await.is_some());
}

#[tokio::test]
async fn the_state_of_one_task_moves_from_backend_to_backend() {
    let agent = ConsulAgent::start().await;
    let store = ObjectStore::with_bucket(BUCKET).await;
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let first = local("states");
    let attempt = prepare(&mut sandbox, &first).await;
    sandbox.terraform.apply(&attempt).await.unwrap();
    let states = sandbox.directory().path().join("states");
    fs::create_dir(states.join("other")).unwrap();
    let state_file = states.join("edge/terraform.tfstate");
    fs::copy(&state_file, states.join("other/terraform.tfstate")).unwrap();
    let written = fs::read(&state_file).unwrap();
    let mut state = found(&sandbox, &attempt).await.unwrap().state;
    assert_eq!(state.resources, Some(1));

    let mut from = first;
    for to in [consul(&agent), postgres().await, s3(&store), local("last")] {
        let attempt = prepare(&mut sandbox, &to).await;
        let terraform = &sandbox.terraform;
        let kept = Terraform::previous_backend(&attempt).unwrap().unwrap();
        assert_eq!(kept.kind, from.kind);
        assert_eq!(found(&sandbox, &attempt).await, None, "{}", to.kind);
        assert_eq!(
            found(&sandbox, &attempt).await,
            None,
            "to look makes nothing"
        );
        let missing = origin(&from, "missing");
        for _ in 0..2 {
            assert!(
                terraform
                    .fetch_state(&attempt, &missing)
                    .await
                    .unwrap()
                    .is_none()
            );
        }
        let fetched = terraform
            .fetch_state(&attempt, &origin(&kept, "edge"))
            .await;
        let fetched = fetched.unwrap().unwrap();
        assert_eq!(fetched.found.state, state);
        terraform
            .push_state(&attempt, &fetched, false)
            .await
            .unwrap();
        drop(fetched);
        let after = found(&sandbox, &attempt).await.unwrap().state;
        assert_moved(&state, &after);
        state = after;
        assert_eq!(scratch(sandbox.directory().path()), Vec::<String>::new());
        let other = terraform.fetch_state(&attempt, &origin(&to, "other")).await;
        assert!(other.unwrap().is_none(), "only the task's own workspace");
        let plan = terraform.plan(&attempt).await.unwrap();
        assert!(!plan.changes_present, "{}", plan.text);
        Terraform::set_verified(&attempt, BackendIdentity::of(&attempt, &to), 1).unwrap();
        from = to;
    }
    assert_eq!(
        fs::read(&state_file).unwrap(),
        written,
        "the old one is as it was"
    );
}

#[tokio::test]
async fn a_state_that_is_read_directly_is_the_one_that_terraform_shows() {
    let agent = ConsulAgent::start().await;
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    for backend in [local("states"), backend("local", json!({}))] {
        let attempt = prepare(&mut sandbox, &backend).await;
        assert_eq!(read_directly(&attempt, &backend), Some(ReadState(None)));
        sandbox.terraform.apply(&attempt).await.unwrap();
        let shown = found(&sandbox, &attempt).await;
        assert_eq!(read_directly(&attempt, &backend), Some(ReadState(shown)));
    }
    let backend = consul(&agent);
    let attempt = prepare(&mut sandbox, &backend).await;
    assert_eq!(read_directly(&attempt, &backend), None);
    sandbox.terraform.apply(&attempt).await.unwrap();
    let key = consul_key(&attempt.task, &backend).unwrap();
    assert_eq!(key, "states/cts-env:edge");
    let value = agent.kv_get(&key).await.unwrap();
    let shown = found(&sandbox, &attempt).await;
    assert!(shown.is_some());
    assert_eq!(read_consul_value(&value), shown);
}

#[tokio::test]
async fn a_push_replaces_what_terraform_has_made_itself_and_nothing_else_without_force() {
    let agent = ConsulAgent::start().await;
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let before = local("before");
    let attempt = prepare(&mut sandbox, &before).await;
    sandbox.terraform.apply(&attempt).await.unwrap();
    let state = found(&sandbox, &attempt).await.unwrap().state;

    let after = consul(&agent);
    let attempt = prepare(&mut sandbox, &after).await;
    let terraform = &sandbox.terraform;
    // A plan names the workspace, and this backend makes it.
    terraform.plan(&attempt).await.unwrap();
    let made = found(&sandbox, &attempt).await.unwrap();
    assert!(made.is_placeholder, "{made:?}");
    let fetched = terraform
        .fetch_state(&attempt, &origin(&before, "edge"))
        .await;
    let fetched = fetched.unwrap().unwrap();
    terraform
        .push_state(&attempt, &fetched, false)
        .await
        .unwrap();
    assert_moved(&state, &found(&sandbox, &attempt).await.unwrap().state);

    // Another lineage with resources.
    let other = consul_at(&agent, "states/other");
    let attempt = prepare(&mut sandbox, &other).await;
    let terraform = &sandbox.terraform;
    let fetched = terraform
        .fetch_state(&attempt, &origin(&before, "edge"))
        .await;
    let fetched = fetched.unwrap().unwrap();
    terraform.apply(&attempt).await.unwrap();
    let error = terraform
        .push_state(&attempt, &fetched, false)
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("error tf-state-push for 'edge'"),
        "{error}"
    );
    terraform
        .push_state(&attempt, &fetched, true)
        .await
        .unwrap();
    assert_moved(&state, &found(&sandbox, &attempt).await.unwrap().state);
}

fn consul_at(agent: &ConsulAgent, path: &str) -> Backend {
    let mut backend = consul(agent);
    backend.arguments.insert("path".into(), path.into());
    backend
}

#[tokio::test]
async fn leftovers_of_a_killed_move_go_with_the_next_run() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    prepare(&mut sandbox, &local("states")).await;
    let directory = sandbox.directory();
    for name in [".cts-state", ".cts-state-to-move"] {
        fs::create_dir(directory.path().join(name)).unwrap();
        fs::write(directory.path().join(name).join("pulled.tfstate"), "{}").unwrap();
    }
    let root = render_root_module(
        &sandbox.definition,
        &sandbox.settings,
        &ModuleInterface::default(),
    )
    .unwrap();
    directory.write_root(&root).unwrap();
    assert_eq!(scratch(directory.path()), Vec::<String>::new());
}

/// `init` takes the files for states of the backend before, whatever it was, and would ask.
#[tokio::test]
async fn states_in_the_task_directory_stay_where_they_are() {
    let agent = ConsulAgent::start().await;
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let before = backend("local", json!({}));
    let attempt = prepare(&mut sandbox, &before).await;
    sandbox.terraform.apply(&attempt).await.unwrap();
    let state = sandbox.state();

    let attempt = prepare(&mut sandbox, &consul(&agent)).await;
    assert_eq!(found(&sandbox, &attempt).await, None);
    let previous = Terraform::previous_backend(&attempt).unwrap().unwrap();
    assert_eq!(previous.kind, "local");
    let terraform = &sandbox.terraform;
    let fetched = terraform
        .fetch_state(&attempt, &origin(&previous, "edge"))
        .await;
    assert_eq!(
        fetched.unwrap().unwrap().found.state.lineage,
        state["lineage"].as_str().unwrap()
    );

    fs::remove_dir_all(sandbox.directory().path().join(".terraform")).unwrap();
    let attempt = prepare(&mut sandbox, &before).await;
    assert!(found(&sandbox, &attempt).await.is_some());
    assert_eq!(sandbox.state(), state);
    assert_eq!(scratch(sandbox.directory().path()), Vec::<String>::new());
}

#[tokio::test]
async fn a_torn_record_of_the_backend_stops_nothing_and_is_no_backend_before() {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let attempt = prepare(&mut sandbox, &local("before")).await;
    sandbox.terraform.apply(&attempt).await.unwrap();
    let identity = BackendIdentity::of(&attempt, &local("before"));
    Terraform::set_verified(&attempt, identity, 0).unwrap();
    let data = sandbox.directory().path().join(".terraform");
    let record = data.join("terraform.tfstate");

    fs::write(&record, "").unwrap();
    let attempt = prepare(&mut sandbox, &local("before")).await;
    assert!(Terraform::is_verified(&attempt, identity, 0));
    assert!(found(&sandbox, &attempt).await.is_some());
    assert_eq!(Terraform::previous_backend(&attempt).unwrap(), None);

    fs::write(&record, "{\"version\": 3, \"back").unwrap();
    let attempt = prepare(&mut sandbox, &local("after")).await;
    let moved = BackendIdentity::of(&attempt, &local("after"));
    assert!(!Terraform::is_verified(&attempt, moved, 0));
    assert_eq!(Terraform::previous_backend(&attempt).unwrap(), None);
    assert_eq!(found(&sandbox, &attempt).await, None);

    let previous = data.join("cts-previous-backend.json");
    fs::write(&previous, "").unwrap();
    let attempt = prepare(&mut sandbox, &local("third")).await;
    let kept = Terraform::previous_backend(&attempt).unwrap();
    assert_eq!(kept, Some(local("after")));
}
