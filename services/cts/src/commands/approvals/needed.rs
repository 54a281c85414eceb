//! `cts approvals test`: whether a plan would need consent.

use std::borrow::Cow;
use std::fs::File;
use std::io;

use cts_cli::{
    EXIT_CONSENT, Output, TestPlan, load, on_one_line, plan_numbers, print, rule_in_force,
};
use cts_core::lease::PlanKey;
use cts_core::{ApprovalRule, EffectScope};
use cts_proto::run::v1::PlanData;
use cts_runtime::ProcessEnv;
use cts_scheduler::{NeededConsent, needed_consent};
use cts_terraform::{PlanContext, read_printed_plan};
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::failure::Failure;

/// Runs the command and returns the exit code.
pub(super) async fn run(test: &TestPlan, process_env: &ProcessEnv) -> Result<u8, Failure> {
    let (rule, source) = if test.configuration.paths.is_empty() {
        match rule_in_force(test, process_env).await {
            Ok((rule, address)) => (rule, format!("in force at {address}")),
            Err(code) => return Ok(code),
        }
    } else {
        of_files(test, process_env)?
    };
    let plan = read(test, process_env).await?;
    let needed = needed_consent(&plan, rule);
    print(&match test.query.output {
        Output::Table => text(&plan, &needed, rule, &source),
        Output::Json => {
            let parts = needed.parts.iter();
            let parts =
                parts.map(|(action, address)| json!({"action": action, "address": address}));
            let document = json!({
                "task": test.task,
                "rule": rule,
                "rule_from": source,
                "needs_consent": needed.is_needed,
                "counts": plan.counts.unwrap_or_default(),
                "parts": parts.collect::<Vec<_>>(),
                "unclear": needed.unclear,
            });
            format!("{document:#}\n")
        }
    })?;
    Ok(if needed.is_needed { EXIT_CONSENT } else { 0 })
}

/// The rule of the files for a task, and where it is from.
fn of_files(test: &TestPlan, process_env: &ProcessEnv) -> Result<(ApprovalRule, String), Failure> {
    let config = load(&test.configuration, process_env)?;
    let mut tasks = config.tasks.iter();
    let task = tasks.find(|task| task.name().as_str() == test.task);
    let task = task
        .ok_or_else(|| Failure::Call(format!("the configuration has no task {:?}", test.task)))?;
    let rule = config.approvals.rule_of(task.file_settings.approval, None);
    Ok((rule.rule, format!("by {}", rule.source.as_str())))
}

/// Reads the plan.
async fn read(test: &TestPlan, process_env: &ProcessEnv) -> Result<PlanData, Failure> {
    let path = process_env.current_dir.join(&test.plan);
    let shown = path.display().to_string();
    let context = PlanContext {
        // No fingerprint is shown.
        key: PlanKey::new([0; 32]),
        scope: EffectScope {
            workspace: test.task.clone(),
            lineage: None,
        },
        redact: Box::new(|text| Cow::Borrowed(text)),
        destroys: false,
        ignored: Vec::new(),
    };
    let reading = spawn_blocking(move || {
        let file = File::open(path)?;
        Ok::<_, io::Error>(read_printed_plan(file, &context))
    });
    let read = reading
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)));
    let read =
        read.map_err(|error| Failure::Call(format!("cannot read the plan {shown}: {error}")))?;
    let read = read.ok_or_else(|| {
        Failure::Call(format!(
            "{shown} is no plan in JSON, as `terraform show -json` prints a saved plan"
        ))
    })?;
    Ok(read.data)
}

fn text(plan: &PlanData, needed: &NeededConsent, rule: ApprovalRule, source: &str) -> String {
    let mut lines = vec![
        format!("Rule: {}, {}", rule.as_str(), on_one_line(source)),
        plan_numbers(&plan.counts.unwrap_or_default()),
    ];
    let unclear = needed.unclear.iter();
    lines.extend(unclear.map(|reason| format!("Not shown: {}", on_one_line(reason))));
    lines.push(if needed.is_needed {
        "Needs the consent of a person:".to_owned()
    } else {
        "Needs no consent.".to_owned()
    });
    if needed.is_needed {
        let parts = needed.parts.iter();
        lines.extend(parts.map(|(word, address)| format!("  {word} {}", on_one_line(address))));
    }
    lines.join("\n") + "\n"
}
