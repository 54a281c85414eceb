//! Plans as data: read from the real engines and reported to the scheduler.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use cts_core::{EngineKind, PlanMode};
use cts_proto::run::v1::{
    KnownState, PlanCounts, PlanData, PlanExtent, PlannedAction, PlannedChange, RunKind,
    planned_value::Value,
};
use cts_testkit::tofu_path;
use prost::Message as _;
use tempfile::TempDir;
use tonic::Code;

use crate::played_scheduler::{Conduct, Strings};
use crate::stage::{KEEPS, SECRET, Stage, terraform_path};

pub(crate) fn keeps_plans(conduct: &mut Conduct) {
    conduct.plan_key = vec![7; 32];
}

/// The plans that were reported.
fn reported(strings: &Strings) -> Vec<PlanData> {
    let requests = strings.conduct(|conduct| conduct.plans.clone());
    let plan = |request: cts_proto::run::v1::RecordPlanRequest| {
        assert_eq!((request.epoch, request.worker_id.as_str()), (1, "worker-1"));
        plan_of(&request.content)
    };
    requests.into_iter().map(plan).collect()
}

/// The plan in the content of a report.
pub(crate) fn plan_of(content: &[u8]) -> PlanData {
    let plain = zstd::decode_all(content).unwrap();
    PlanData::decode(plain.as_slice()).unwrap()
}

fn the_plan(strings: &Strings) -> PlanData {
    let mut plans = reported(strings);
    assert_eq!(plans.len(), 1);
    plans.remove(0)
}

fn change<'p>(plan: &'p PlanData, name: &str) -> &'p PlannedChange {
    let address = format!("module.edge.terraform_data.{name}");
    let mut changes = plan.changes.iter();
    changes.find(|change| change.address == address).unwrap()
}

#[tokio::test]
async fn an_inspection_reports_its_plan_and_leaves_no_file() {
    let mut stage = Stage::with_conduct(KEEPS, keeps_plans).await;
    stage
        .strings
        .conduct(|conduct| conduct.secret = vec![8; 32]);
    stage.strings.grant(RunKind::Plan, stage.input());
    let planned = stage.strings.planned().await;
    assert!(
        planned.text.ends_with("0 to destroy.\n"),
        "{}",
        planned.text
    );
    let plan = the_plan(&stage.strings);
    assert_eq!(plan.extent(), PlanExtent::All);
    assert_eq!((plan.effect.len(), &plan.unclear[..]), (32, &[][..]));
    assert_eq!(plan.counts.unwrap().created, 1);
    let kept = change(&plan, "kept");
    assert_eq!(
        (kept.action(), kept.effect.len()),
        (PlannedAction::Create, 32)
    );
    assert!(!stage.file("saved.tfplan").exists() && !stage.state().exists());
    let proofs = stage.strings.conduct(|conduct| conduct.proofs.clone());
    let proof = proofs
        .into_iter()
        .find(|(call, _proof)| *call == "record_plan");
    assert_eq!(proof.unwrap().1.unwrap().secret, [8; 32]);
}

#[tokio::test]
async fn nothing_is_read_without_changes_and_for_a_scheduler_that_keeps_no_plans() {
    let mut stage = Stage::with_conduct(KEEPS, keeps_plans).await;
    stage.strings.grant(RunKind::Apply, stage.input());
    stage.strings.applied().await;
    // The apply of a task without saved plans has no plan of its own.
    stage.strings.grant(RunKind::Plan, stage.input());
    assert!(!stage.strings.planned().await.changes_present);
    stage
        .strings
        .conduct(|conduct| conduct.plan_key = Vec::new());
    stage.strings.grant(RunKind::DestroyPlan, stage.input());
    let planned = stage.strings.planned().await;
    assert!(planned.changes_present && planned.text.contains("1 to destroy"));
    assert_eq!(reported(&stage.strings), []);
}

#[tokio::test]
async fn a_further_attempt_without_changes_replaces_the_plan() {
    let mut stage = Stage::with_conduct(KEEPS, keeps_plans).await;
    stage.strings.grant(RunKind::Apply, stage.input());
    stage.strings.applied().await;
    stage.strings.grant_again(RunKind::Plan, stage.input());
    assert!(!stage.strings.planned().await.changes_present);
    let expected = PlanData {
        extent: PlanExtent::All.into(),
        counts: Some(PlanCounts::default()),
        ..PlanData::default()
    };
    assert_eq!(the_plan(&stage.strings), expected);
}

#[tokio::test]
async fn equal_plans_have_equal_effects_whatever_the_run() {
    let mut stage = Stage::with_conduct(KEEPS, keeps_plans).await;
    let saved = stage.input_of(|definition| definition.file_definition.plan = PlanMode::Saved);
    stage.strings.grant(RunKind::Plan, stage.input());
    stage.strings.planned().await;
    stage.strings.grant(RunKind::Apply, saved);
    stage.strings.applied().await;
    stage.strings.conduct(|conduct| {
        conduct.known = Some(KnownState {
            lineage: "other".into(),
            ..KnownState::default()
        });
    });
    stage.strings.grant(RunKind::DestroyPlan, stage.input());
    stage.strings.planned().await;
    let plans = reported(&stage.strings);
    let [inspected, applied, destroyed] = &plans[..] else {
        panic!("{plans:?}");
    };
    assert_eq!(inspected.effect, applied.effect);
    assert_ne!(inspected.effect, destroyed.effect);
    assert_eq!(change(destroyed, "kept").action(), PlannedAction::Delete);
    assert_eq!(destroyed.counts.unwrap().deleted, 1);
}

#[tokio::test]
async fn ignored_attributes_are_not_part_of_an_effect() {
    const TIMED: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "kept" {
  input = plantimestamp()
}
"#;
    let mut stage = Stage::with_conduct(TIMED, keeps_plans).await;
    let ignored = ["", "module.edge.terraform_data.kept.input", "no address"];
    for names in [&ignored[..1], &ignored[..], &ignored[..]] {
        let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
        stage.strings.conduct(|conduct| conduct.ignored = names);
        stage.strings.grant(RunKind::Plan, stage.input());
        stage.strings.planned().await;
    }
    let plans = reported(&stage.strings);
    assert_eq!(plans[1].effect, plans[2].effect);
    assert_ne!(plans[0].effect, plans[1].effect);
    let marks = |plan: &PlanData| -> Vec<String> {
        let attributes = change(plan, "kept").attributes.iter();
        let ignored = attributes.filter(|it| it.ignored);
        ignored.map(|it| it.path.clone()).collect()
    };
    assert_eq!(marks(&plans[0]), Vec::<String>::new());
    assert_eq!(marks(&plans[1]), ["input"]);
}

#[tokio::test]
async fn a_run_goes_on_if_its_plan_is_not_recorded() {
    for code in [Code::Unimplemented, Code::Internal, Code::InvalidArgument] {
        let mut stage = Stage::with_conduct(KEEPS, keeps_plans).await;
        stage
            .strings
            .conduct(|conduct| conduct.refuses_plans = Some(code));
        let input = stage.input_of(|definition| definition.file_definition.plan = PlanMode::Saved);
        stage.strings.grant(RunKind::Apply, input);
        stage.strings.applied().await;
        assert_eq!(reported(&stage.strings).len(), 1);
        assert!(stage.state().exists() && !stage.file("saved.tfplan").exists());
    }
}

/// A worker whose Terraform runs these lines for `show`, and the directory of its executable.
pub(crate) async fn with_show(lines: &str) -> (Stage, TempDir) {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("terraform");
    let terraform = terraform_path();
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = show ]; then\n{lines}\nfi\nexec {} \"$@\"\n",
        terraform.display()
    );
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let engine = (EngineKind::Terraform, file);
    let stage = Stage::played(engine, KEEPS, |_options| {}, keeps_plans).await;
    (stage, directory)
}

const NOT_A_PLAN: &str = "the output of the engine is not a plan that can be read";

#[tokio::test]
async fn a_run_goes_on_if_its_plan_cannot_be_read() {
    let cases = [
        ("exit 1", "the plan could not be read"),
        ("exec cat saved.tfplan", NOT_A_PLAN),
        (
            "printf '{\"format_version\":\"1.2\",\"resource_changes\":['; exit 0",
            NOT_A_PLAN,
        ),
    ];
    for (show, reason) in cases {
        let (mut stage, _directory) = with_show(show).await;
        stage.strings.grant(RunKind::Plan, stage.input());
        assert!(stage.strings.planned().await.changes_present);
        let plan = the_plan(&stage.strings);
        assert_eq!(plan.extent(), PlanExtent::Counts, "{show}");
        assert_eq!(
            (plan.effect.as_str(), &plan.unclear[..]),
            ("", &[reason.to_owned()][..])
        );
        assert!(!stage.file("saved.tfplan").exists());
    }
}

/// The process ends when its output is not read any more.
#[tokio::test]
async fn an_endless_plan_is_reported_as_numbers() {
    let show = r#"x=$(head -c 100000 /dev/zero | tr '\0' x)
printf '{"format_version":"1.2","resource_changes":[\n'
exec yes "{\"address\":\"a.b\",\"change\":{\"actions\":[\"no-op\"],\"before\":\"$x\"}},""#;
    let (mut stage, _directory) = with_show(show).await;
    stage.strings.grant(RunKind::Plan, stage.input());
    assert!(stage.strings.planned().await.changes_present);
    let plan = the_plan(&stage.strings);
    assert_eq!(
        (plan.extent(), plan.effect.as_str()),
        (PlanExtent::Counts, "")
    );
    let unchanged = plan.counts.unwrap().unchanged;
    assert!((600..=671).contains(&unchanged), "{unchanged}");
    assert_eq!(
        plan.unclear,
        ["the changes of the plan are longer than 64 MiB"]
    );
}

#[tokio::test]
async fn the_reading_of_a_plan_stops_gently() {
    let show = "trap 'touch interrupted; exit 1' INT; stat -c %a saved.tfplan > mode; mv mode reading\nwhile :; do sleep 0.1; done";
    let (mut stage, _directory) = with_show(show).await;
    stage.strings.grant(RunKind::Plan, stage.input());
    let mut looks = tokio::time::interval(std::time::Duration::from_millis(20));
    while !stage.file("reading").exists() {
        looks.tick().await;
    }
    assert_eq!(fs::read_to_string(stage.file("reading")).unwrap(), "600\n");
    stage.shutdown.drain.cancel();
    stage.shutdown.stop.cancel();
    // The plan itself was complete.
    assert!(stage.strings.planned().await.changes_present);
    assert!(stage.file("interrupted").exists());
    assert!(!stage.file("saved.tfplan").exists());
    assert_eq!(reported(&stage.strings), []);
}

#[tokio::test]
async fn a_scheduler_without_an_answer_does_not_hold_a_run_that_stops() {
    let mut stage = Stage::with_conduct(KEEPS, keeps_plans).await;
    stage.strings.conduct(|conduct| conduct.holds_plans = true);
    stage.strings.grant(RunKind::Plan, stage.input());
    stage
        .strings
        .until(|conduct| !conduct.plans.is_empty())
        .await;
    stage.shutdown.drain.cancel();
    stage.shutdown.stop.cancel();
    assert!(stage.strings.planned().await.changes_present);
}

/// Every action of a real engine, with secrets of five kinds.
async fn every_action(engine: EngineKind, path: PathBuf) {
    let variable = "variable \"services\" {\n  type = any\n}\n\nvariable \"marked\" {\n  default   = \"planted-sensitive\"\n  sensitive = true\n}\n";
    let before = format!(
        r#"{variable}
resource "terraform_data" "updated" {{
  input = {{ password = "planted-by-name", user_data = "run <{SECRET}>", inner = [var.marked], url = "https://u:planted-in-url@h/x", size = 1 }}
}}
resource "terraform_data" "replaced" {{
  triggers_replace = 1
}}
resource "terraform_data" "deleted" {{}}
resource "terraform_data" "before" {{}}
resource "terraform_data" "forgotten" {{}}
"#
    );
    let after = before
        .replace("size = 1", "size = 2")
        .replace("triggers_replace = 1", "triggers_replace = 2")
        .replace("resource \"terraform_data\" \"deleted\" {}", "resource \"terraform_data\" \"created\" {}")
        .replace("resource \"terraform_data\" \"before\" {}", "resource \"terraform_data\" \"moved\" {}\nmoved {\n  from = terraform_data.before\n  to   = terraform_data.moved\n}")
        .replace(
            "resource \"terraform_data\" \"forgotten\" {}",
            "removed {\n  from = terraform_data.forgotten\n  lifecycle {\n    destroy = false\n  }\n}",
        );
    let mut stage = Stage::played((engine, path), &before, |_options| {}, keeps_plans).await;
    stage.strings.grant(RunKind::Apply, stage.input());
    stage.strings.applied().await;
    fs::write(stage.root().join("module/main.tf"), after).unwrap();
    stage.strings.grant(RunKind::Plan, stage.input());
    stage.strings.planned().await;
    let plan = the_plan(&stage.strings);
    for (name, action) in [
        ("updated", PlannedAction::Update),
        ("replaced", PlannedAction::DeleteThenCreate),
        ("deleted", PlannedAction::Delete),
        ("created", PlannedAction::Create),
        ("moved", PlannedAction::None),
        ("forgotten", PlannedAction::Forget),
    ] {
        let change = change(&plan, name);
        assert_eq!(change.action(), action, "{name}");
        assert_eq!(change.effect.len(), 32, "{name}");
    }
    assert_eq!(plan.changes.len(), 6);
    assert_eq!(
        change(&plan, "moved").previous_address,
        "module.edge.terraform_data.before"
    );
    let attributes = &change(&plan, "updated").attributes;
    let value = |path: &str| {
        let attribute = attributes.iter().find(|attribute| attribute.path == path);
        attribute.unwrap().after.clone().unwrap().value.unwrap()
    };
    assert_eq!(value("input[\"size\"]"), Value::Json("2".into()));
    for hidden in ["password", "user_data", "url"] {
        assert_eq!(value(&format!("input[\"{hidden}\"]")), Value::Hidden(true));
    }
    let bytes = plan.encode_to_vec();
    for secret in [
        "planted-sensitive",
        "planted-by-name",
        SECRET,
        "planted-in-url",
    ] {
        let found = bytes
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        assert!(!found, "{secret}");
    }
}

#[tokio::test]
async fn every_action_of_terraform_is_reported_without_secrets() {
    every_action(EngineKind::Terraform, terraform_path()).await;
}

#[tokio::test]
async fn every_action_of_opentofu_is_reported_without_secrets() {
    every_action(EngineKind::OpenTofu, tofu_path()).await;
}
