//! Plans that are made first and applied as they are.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use cts_core::lease::PlanKey;
use cts_core::{EffectScope, EngineKind, ModuleInterface, PlanMode, ProviderBlock, ProviderId};
use cts_terraform::{PlanContext, render_root_module, required_version};
use cts_testkit::tofu_path;
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::Instant;
use zip::ZipArchive;

use crate::fixture::{
    CANNOT_BE_PLANNED, KEEPS_SERVICES, Sandbox, instance, object, terraform_path,
};

const TOKEN: &str = "token-of-the-firewall";

fn mode(path: &PathBuf) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn only_its_owner_reads_a_plan_and_it_goes_with_its_value() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    let (attempt, _lines) = sandbox.prepared(vec![instance("a", "x")]).await;
    let file = sandbox.directory().path().join("saved.tfplan");
    // A plan that a killed process has left.
    fs::write(&file, "left").unwrap();
    let saved = sandbox.terraform.save_plan(&attempt).await.unwrap();
    let (plan, output) = saved;
    assert!(output.changes_present);
    assert_eq!(mode(&file), 0o600);
    sandbox
        .terraform
        .apply_saved(&attempt, &plan)
        .await
        .unwrap();
    assert!(sandbox.state().to_string().contains("terraform_data"));
    let stale = sandbox.terraform.apply_saved(&attempt, &plan).await;
    let stale = stale.unwrap_err().to_string();
    assert!(stale.contains("apply"), "{stale}");
    drop(plan);
    assert!(!file.exists());
}

#[tokio::test]
async fn a_plan_that_a_kill_has_left_is_removed_before_the_next_run() {
    let sandbox = Sandbox::new(KEEPS_SERVICES).await;
    sandbox.write(Vec::new());
    let file = sandbox.directory().path().join("saved.tfplan");
    fs::write(&file, "left").unwrap();
    sandbox.write(Vec::new());
    assert!(!file.exists());
}

#[tokio::test]
async fn a_plan_that_fails_leaves_no_file() {
    let sandbox = Sandbox::new(CANNOT_BE_PLANNED).await;
    let (attempt, _lines) = sandbox.prepared(vec![instance("a", "x")]).await;
    sandbox.terraform.save_plan(&attempt).await.unwrap_err();
    assert!(!sandbox.directory().path().join("saved.tfplan").exists());
}

/// How the plan is read by an engine that does this for `show`, within `limit`: numbers of created resources, and the
/// reason why the plan was not read to its end.
async fn read_with(show: &str, limit: Duration) -> (u32, Option<&'static str>) {
    let engine = TempDir::new().unwrap();
    let file = engine.path().join("terraform");
    let real = terraform_path();
    let real = real.display();
    let show = show.replace("REAL", &format!("{real} \"$@\""));
    let script = format!("#!/bin/sh\nif [ \"$1\" = show ]; then\n{show}\nfi\nexec {real} \"$@\"\n");
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let mut sandbox = Sandbox::with_engine(EngineKind::Terraform, file, KEEPS_SERVICES).await;
    sandbox.terraform = sandbox.terraform.reading_plans_for(limit);
    let (attempt, _lines) = sandbox.prepared(vec![instance("a", "x")]).await;
    let (plan, _output) = sandbox.terraform.save_plan(&attempt).await.unwrap();
    let context = PlanContext {
        key: PlanKey::new([7; 32]),
        scope: EffectScope {
            workspace: "edge".into(),
            lineage: None,
        },
        destroys: false,
        ignored: Vec::new(),
        redact: Box::new(|text| text.into()),
    };
    let read = sandbox.terraform.read_plan(&attempt, &plan, context).await;
    if let Ok(holder) = fs::read_to_string(sandbox.directory().path().join("holder")) {
        let ended = Command::new("kill").arg(holder.trim()).status().await;
        assert!(ended.unwrap().success(), "the holder of the pipe stays");
    }
    let read = read.unwrap();
    (read.data.counts.unwrap().created, read.unread)
}

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_process_that_keeps_the_output_open_does_not_hold_the_reading() {
    let begun = Instant::now();
    let holder = "setsid sleep 1000 2>/dev/null & echo $! > holder\nexec REAL";
    assert_eq!(read_with(holder, MINUTE).await, (1, None));
    let half =
        "setsid sleep 1000 2>/dev/null & echo $! > holder\nprintf '{\"format_version\":'; exit 0";
    let not_a_plan = "the output of the engine is not a plan that can be read";
    assert_eq!(read_with(half, MINUTE).await, (0, Some(not_a_plan)));
    assert!(begun.elapsed() < MINUTE);
}

#[tokio::test]
async fn a_plan_that_takes_too_long_leaves_its_numbers() {
    let slow = "printf '{\"format_version\":\"1.2\",\"resource_changes\":[{\"address\":\"a.b\",\"change\":{\"actions\":[\"create\"]}},'\nexec sleep 1000";
    let read = read_with(slow, Duration::from_secs(1)).await;
    assert_eq!(read, (1, Some("the plan could not be read within 60 s")));
}

#[tokio::test]
async fn a_long_text_that_is_no_plan_leaves_its_reason() {
    let long = "echo '{\"format_version\":7}'; head -c 1000000 /dev/zero || exit 1; exit 0";
    let not_a_plan = "the output of the engine is not a plan that can be read";
    assert_eq!(read_with(long, MINUTE).await, (0, Some(not_a_plan)));
}

/// The variables of a task with a provider that has a token, as cts writes them, and a plan with them.
async fn plan_with_token(engine: EngineKind, path: PathBuf, mode: PlanMode) -> Vec<u8> {
    let mut sandbox = Sandbox::with_engine(engine, path.clone(), KEEPS_SERVICES).await;
    sandbox.settings.providers = vec![ProviderBlock {
        name: "fw".into(),
        alias: None,
        arguments: object(json!({ "token": TOKEN })),
        blocks: std::collections::BTreeSet::new(),
        task_env: BTreeMap::new(),
    }];
    sandbox.settings.required_version =
        required_version(engine, &sandbox.settings.terraform_version);
    sandbox.definition.providers = vec![ProviderId::from("fw")];
    sandbox.definition.file_definition.plan = mode;
    let root = render_root_module(
        &sandbox.definition,
        &sandbox.settings,
        &ModuleInterface::default(),
    )
    .unwrap();
    let directory = sandbox.path().join("by-hand");
    fs::create_dir(&directory).unwrap();
    // The provider does not exist here, and a plan has the values of all variables.
    let file = "resource \"terraform_data\" \"kept\" {}\n";
    fs::write(directory.join("main.tf"), file).unwrap();
    for name in ["variables.tf", "providers.auto.tfvars"] {
        fs::write(directory.join(name), root.file(name).unwrap()).unwrap();
    }
    fs::write(directory.join("terraform.tfvars"), "services = {}\n").unwrap();
    let run = async |arguments: &[&str]| {
        let output = Command::new(&path)
            .args(arguments)
            .current_dir(&directory)
            .env("CHECKPOINT_DISABLE", "1")
            .env_remove("TF_CLI_CONFIG_FILE")
            .output();
        let output = output.await.unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    run(&["init", "-input=false"]).await;
    run(&["plan", "-input=false", "-out=saved.tfplan"]).await;
    let bytes = fs::read(directory.join("saved.tfplan")).unwrap();
    run(&["apply", "-input=false", "saved.tfplan"]).await;
    bytes
}

/// Whether a plan has the token in one of its parts.
fn has_token(plan: Vec<u8>) -> bool {
    let mut archive = ZipArchive::new(Cursor::new(plan)).unwrap();
    (0..archive.len()).any(|index| {
        let mut part = Vec::new();
        let mut entry = archive.by_index(index).unwrap();
        entry.read_to_end(&mut part).unwrap();
        part.windows(TOKEN.len())
            .any(|window| window == TOKEN.as_bytes())
    })
}

#[tokio::test]
async fn a_saved_plan_has_no_arguments_of_providers() {
    for (engine, path) in [
        (EngineKind::Terraform, terraform_path()),
        (EngineKind::OpenTofu, tofu_path()),
    ] {
        let saved = plan_with_token(engine, path.clone(), PlanMode::Saved).await;
        assert!(!has_token(saved), "{engine:?}");
        let other = plan_with_token(engine, path, PlanMode::Direct).await;
        assert!(has_token(other), "{engine:?}: nothing is shown by this");
    }
}
