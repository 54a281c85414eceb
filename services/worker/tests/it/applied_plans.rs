//! An apply does exactly what its plan has shown: the state before and after, as the engine itself shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cts_core::EngineKind;
use cts_proto::run::v1::planned_value::Value as Shown;
use cts_proto::run::v1::{
    PermitDecision, PlanData, PlannedAction, PlannedChange, PlannedValue, RunKind,
};
use cts_testkit::tofu_path;
use serde_json::Value;
use tokio::process::Command;

use crate::plan_data::{keeps_plans, plan_of};
use crate::stage::{Stage, terraform_path};

/// An object of every action that a module can have: an import is for root modules alone.
const BEFORE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "updated" {
  input = { size = 1, tags = ["a", "b"] }
}

resource "terraform_data" "replaced" {
  input            = "kept"
  triggers_replace = { version = 1 }
}

resource "terraform_data" "swapped" {
  triggers_replace = [1]
  lifecycle {
    create_before_destroy = true
  }
}

resource "terraform_data" "deleted" {
  input = "gone"
}

resource "terraform_data" "before" {
  input = "moves"
}

resource "terraform_data" "forgotten" {
  input = "stays"
}
"#;

/// The module afterwards.
fn after() -> String {
    let changes = [
        (
            "size = 1, tags = [\"a\", \"b\"]",
            "size = 2, tags = [\"b\"]",
        ),
        ("version = 1", "version = 2"),
        ("[1]", "[2]"),
        (
            "resource \"terraform_data\" \"deleted\" {\n  input = \"gone\"",
            "resource \"terraform_data\" \"created\" {\n  input = { name = \"new\", of = terraform_data.replaced.id }",
        ),
        (
            "resource \"terraform_data\" \"before\" {",
            "moved {\n  from = terraform_data.before\n  to = terraform_data.moved\n}\nresource \"terraform_data\" \"moved\" {",
        ),
        (
            "resource \"terraform_data\" \"forgotten\" {\n  input = \"stays\"\n}",
            "removed {\n  from = terraform_data.forgotten\n  lifecycle {\n    destroy = false\n  }\n}",
        ),
    ];
    changes.iter().fold(BEFORE.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    })
}

/// Values that are neither lists nor maps nor null, by their path.
type Leaves = BTreeMap<String, Value>;

/// Objects by their address.
type Objects = BTreeMap<String, Leaves>;

/// The state of the task, as the engine shows it.
async fn objects(stage: &Stage, engine: &Path) -> Objects {
    let shown = Command::new(engine)
        .args([
            "show",
            "-json",
            "terraform.tfstate.d/edge/terraform.tfstate",
        ])
        .current_dir(stage.file(""))
        .env("CHECKPOINT_DISABLE", "1")
        .env_remove("TF_CLI_CONFIG_FILE")
        .output()
        .await
        .unwrap();
    assert!(shown.status.success(), "{shown:?}");
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let mut modules = vec![&shown["values"]["root_module"]];
    let mut objects = Objects::new();
    while let Some(module) = modules.pop() {
        modules.extend(module["child_modules"].as_array().into_iter().flatten());
        for resource in module["resources"].as_array().into_iter().flatten() {
            assert_eq!(resource["deposed_key"], Value::Null, "{resource}");
            let mut leaves = Leaves::new();
            for (name, value) in resource["values"].as_object().unwrap() {
                add_leaves(&mut leaves, name.clone(), value);
            }
            let address = resource["address"].as_str().unwrap();
            objects.insert(address.to_owned(), leaves);
        }
    }
    objects
}

fn add_leaves(leaves: &mut Leaves, path: String, value: &Value) {
    match value {
        Value::Null => {}
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                add_leaves(leaves, format!("{path}[{index}]"), value);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                add_leaves(leaves, format!("{path}[{key:?}]"), value);
            }
        }
        leaf => {
            leaves.insert(path, leaf.clone());
        }
    }
}

/// A side of a change: its known values, and the paths of those that are unknown.
#[derive(Debug, Default)]
struct Side {
    known: Leaves,
    unknown: BTreeSet<String>,
}

impl Side {
    fn of(change: &PlannedChange, is_before: bool) -> Self {
        let mut side = Self::default();
        for attribute in &change.attributes {
            let value = if is_before {
                &attribute.before
            } else {
                &attribute.after
            };
            let Some(PlannedValue {
                value: Some(value), ..
            }) = value
            else {
                continue;
            };
            let path = attribute.path.clone();
            match value {
                Shown::Json(text) => match serde_json::from_str(text).unwrap() {
                    Value::Null => {}
                    value => {
                        side.known.insert(path, value);
                    }
                },
                Shown::Unknown(_) => {
                    side.unknown.insert(path);
                }
                Shown::Hidden(_) => unreachable!("{path} is no secret"),
            }
        }
        side
    }

    /// Asserts that an object has these values, and further ones only where they were unknown.
    fn assert_is(&self, address: &str, object: &Leaves) {
        let is_unknown = |path: &str| {
            let mut unknown = self.unknown.iter();
            unknown.any(|start| {
                let rest = path.strip_prefix(start.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
            })
        };
        let known = object.iter().filter(|(path, _)| !is_unknown(path));
        let known: Leaves = known
            .map(|(path, value)| (path.clone(), value.clone()))
            .collect();
        assert_eq!(known, self.known, "{address}");
        let has = |start: &String| object.keys().any(|path| path.starts_with(start.as_str()));
        assert!(self.unknown.iter().all(has), "{address}: {object:?}");
    }
}

/// Asserts that a plan leads from one state to another.
fn assert_leads(plan: &PlanData, mut from: Objects, mut to: Objects) {
    for change in &plan.changes {
        let address = &change.address;
        let earlier = if change.previous_address.is_empty() {
            address
        } else {
            &change.previous_address
        };
        let before = from.remove(earlier);
        let after = to.remove(address);
        let action = change.action();
        let (is_made, is_unmade) = match action {
            PlannedAction::Create => (true, false),
            PlannedAction::Delete | PlannedAction::Forget => (false, true),
            _ => (true, true),
        };
        assert_eq!(before.is_some(), is_unmade, "{action:?} {earlier}");
        assert_eq!(after.is_some(), is_made, "{action:?} {address}");
        if action == PlannedAction::None {
            assert_eq!(before, after, "{address}");
            continue;
        }
        if let Some(before) = before {
            Side::of(change, true).assert_is(earlier, &before);
        }
        if let Some(after) = after {
            Side::of(change, false).assert_is(address, &after);
        }
    }
    // Nothing else has changed.
    assert_eq!(from, to);
}

async fn shows_what_it_does(engine: EngineKind, path: PathBuf) {
    let mut stage = Stage::played(
        (engine, path.clone()),
        BEFORE,
        |_options| {},
        |conduct| {
            keeps_plans(conduct);
            conduct.permit = PermitDecision::Permitted;
        },
    )
    .await;
    let grant = |stage: &Stage, kind, attempt| {
        let input = stage.input();
        stage.strings.grant_asking(kind, input, attempt);
    };
    grant(&stage, RunKind::Apply, 1);
    stage.strings.applied().await;
    let first = objects(&stage, &path).await;
    assert_eq!(first.len(), 6);

    fs::write(stage.root().join("module/main.tf"), after()).unwrap();
    stage
        .strings
        .conduct(|conduct| conduct.permit = PermitDecision::Waits);
    grant(&stage, RunKind::Apply, 1);
    stage.strings.interrupted().await;
    assert_eq!(objects(&stage, &path).await, first);
    stage
        .strings
        .conduct(|conduct| conduct.permit = PermitDecision::Permitted);
    grant(&stage, RunKind::Apply, 2);
    stage.strings.applied().await;
    let second = objects(&stage, &path).await;
    grant(&stage, RunKind::Destroy, 1);
    stage.strings.destroyed().await;
    let third = objects(&stage, &path).await;
    assert_eq!(third, Objects::new());

    let permits = stage.strings.conduct(|conduct| conduct.permits.clone());
    let plans: Vec<PlanData> = permits.iter().map(|it| plan_of(&it.content)).collect();
    let [made, waited, applied, destroyed] = &plans[..] else {
        unreachable!("{plans:?}");
    };
    assert_eq!(waited.effect, applied.effect);
    let actions = waited.changes.iter().map(PlannedChange::action);
    let expected = BTreeSet::from([
        PlannedAction::None,
        PlannedAction::Create,
        PlannedAction::Update,
        PlannedAction::Delete,
        PlannedAction::DeleteThenCreate,
        PlannedAction::CreateThenDelete,
        PlannedAction::Forget,
    ]);
    assert_eq!(actions.collect::<BTreeSet<_>>(), expected);
    assert_leads(made, Objects::new(), first.clone());
    assert_leads(waited, first, second.clone());
    assert_leads(destroyed, second, third);
}

#[tokio::test]
async fn a_plan_of_terraform_shows_what_its_apply_does() {
    shows_what_it_does(EngineKind::Terraform, terraform_path()).await;
}

#[tokio::test]
async fn a_plan_of_opentofu_shows_what_its_apply_does() {
    shows_what_it_does(EngineKind::OpenTofu, tofu_path()).await;
}
