//! Plans and applies without Terraform.

use serde_json::{Value, json};
use uuid::Uuid;

use super::super::model::{Counts, StageName};
use super::StageResult;
use super::directory::RunDirectory;

/// Writes a log and, at the end of an apply, a state with one resource for each addition.
pub(super) async fn stage(directory: &RunDirectory, name: StageName) -> StageResult {
    let outcome = directory.outcome;
    let counts = Counts {
        additions: outcome.additions,
        changes: outcome.changes,
        destructions: outcome.destructions,
        imports: 0,
    };
    let Counts {
        additions,
        changes,
        destructions,
        ..
    } = counts;
    let (fails, summary) = match name {
        StageName::Plan => (
            outcome.plan_fails,
            format!("Plan: {additions} to add, {changes} to change, {destructions} to destroy.\n"),
        ),
        StageName::Apply => (
            outcome.apply_fails,
            format!(
                "Apply complete! Resources: {additions} added, {changes} changed, {destructions} destroyed.\n"
            ),
        ),
    };
    if fails {
        directory.log(name, b"Error: made up\n");
        return StageResult {
            succeeded: false,
            counts: None,
        };
    }
    let nothing = counts == Counts::default();
    let log = if nothing {
        "No changes. Your infrastructure matches the configuration.\n".to_owned()
    } else {
        summary
    };
    directory.log(name, log.as_bytes());
    if name == StageName::Apply {
        let before = directory.state().await.unwrap_or_default();
        let state = next_state(
            &serde_json::from_slice(&before).unwrap_or_default(),
            additions,
        );
        directory.write_state(state.to_string().as_bytes()).await;
    }
    StageResult {
        succeeded: true,
        counts: (!nothing).then_some(counts),
    }
}

fn next_state(before: &Value, additions: u64) -> Value {
    let serial = before["serial"].as_u64().unwrap_or_default() + 1;
    let lineage = before["lineage"]
        .as_str()
        .map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
    let resource = |number: u64| {
        json!({
            "mode": "managed", "type": "terraform_data", "name": format!("r{number}"),
            "provider": "provider[\"terraform.io/builtin/terraform\"]", "instances": [],
        })
    };
    let resources: Vec<Value> = (0..additions).map(resource).collect();
    json!({
        "version": 4, "terraform_version": "1.10.5", "serial": serial, "lineage": lineage,
        "outputs": {}, "resources": resources, "check_results": null,
    })
}
