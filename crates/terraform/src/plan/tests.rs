//! Plans of real engines, and hostile ones. crates/terraform/tests/plans/README.md says how the files were made.

mod effects;
mod fixtures;
mod ignored;
mod limits;

use std::borrow::Cow;
use std::time::Duration;

use cts_core::EffectScope;
use cts_core::lease::PlanKey;
use cts_proto::run::v1::planned_value::Value as Shown;
use cts_proto::run::v1::{PlanData, PlanExtent, PlannedChange, PlannedValue};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;

/// A secret of the configuration.
const CONFIGURED: &str = "planted-by-configuration";

fn context() -> PlanContext {
    PlanContext {
        key: PlanKey::new([7; 32]),
        scope: EffectScope {
            workspace: "edge".into(),
            lineage: None,
        },
        destroys: false,
        ignored: Vec::new(),
        redact: Box::new(|text| {
            if text.contains(CONFIGURED) {
                Cow::Owned(text.replace(CONFIGURED, "(hidden)"))
            } else {
                Cow::Borrowed(text)
            }
        }),
    }
}

fn soon() -> Limits {
    Limits::until(Instant::now() + Duration::from_mins(1))
}

/// A plan that can be read.
fn plan_of(text: &str) -> PlanData {
    let (plan, end) = read(text.as_bytes(), &context(), soon());
    assert_eq!((end, plan.unread), (ReadEnd::Whole, None));
    plan.data
}

/// A plan with these changes of resources.
fn of_changes(changes: &[Value]) -> PlanData {
    read_with(&context(), changes)
}

/// A plan with these changes of resources, read with a context.
fn read_with(context: &PlanContext, changes: &[Value]) -> PlanData {
    let text = json!({ "format_version": "1.2", "resource_changes": changes }).to_string();
    let (plan, end) = read(text.as_bytes(), context, soon());
    assert_eq!((end, plan.unread), (ReadEnd::Whole, None));
    plan.data
}

/// The change of a resource whose value becomes `after`.
fn created(after: &Value) -> Value {
    json!({
        "address": "a.b",
        "change": { "actions": ["create"], "before": null, "after": after, "after_unknown": {},
                    "before_sensitive": false, "after_sensitive": {} }
    })
}

fn attribute_lines(change: &PlannedChange) -> Vec<String> {
    let line = |attribute: &cts_proto::run::v1::PlannedAttribute| {
        let (before, after) = (
            value(attribute.before.as_ref()),
            value(attribute.after.as_ref()),
        );
        let changed = if attribute.changed { "~" } else { " " };
        let forces = if attribute.forces_replacement {
            " forces replacement"
        } else {
            ""
        };
        format!(
            "    {changed} {}: {before} -> {after}{forces}",
            attribute.path
        )
    };
    change.attributes.iter().map(line).collect()
}

fn value(value: Option<&PlannedValue>) -> String {
    match value.map(|value| value.value.as_ref()) {
        None => "absent".into(),
        Some(Some(Shown::Json(text))) => text.clone(),
        Some(Some(Shown::Unknown(_))) => "unknown".into(),
        Some(Some(Shown::Hidden(_))) => "hidden".into(),
        Some(None) => "nothing".into(),
    }
}

/// A whole plan as lines, without effects.
fn text_of(plan: &PlanData) -> String {
    let mut lines = vec![format!(
        "{} {} {}",
        plan.format_version,
        plan.engine_version,
        plan.extent().as_str_name()
    )];
    lines.extend(
        plan.unclear
            .iter()
            .map(|reason| format!("unclear: {reason}")),
    );
    lines.push(serde_json::to_string(&plan.counts).unwrap());
    for change in &plan.changes {
        let action = change
            .action()
            .as_str_name()
            .trim_start_matches("PLANNED_ACTION_");
        let effect = if change.effect.is_empty() {
            ""
        } else {
            " with effect"
        };
        lines.push(format!(
            "{action} {} from={:?} deposed={:?} by={:?} words={:?} reason={:?} importing={:?}{effect}",
            change.address,
            change.previous_address,
            change.deposed,
            change.provider,
            change.actions,
            change.reason,
            change.importing
        ));
        lines.extend(attribute_lines(change));
    }
    for output in &plan.outputs {
        let (before, after) = (value(output.before.as_ref()), value(output.after.as_ref()));
        lines.push(format!(
            "output {} {}: {before} -> {after}",
            output.name,
            output.action().as_str_name()
        ));
    }
    for invocation in &plan.invocations {
        lines.push(format!(
            "invoke {} by={:?} triggered_by={:?} event={:?}",
            invocation.address, invocation.provider, invocation.triggered_by, invocation.event
        ));
    }
    let deferred = plan.deferred.iter();
    lines.extend(
        deferred.map(|deferred| format!("deferred {} {:?}", deferred.address, deferred.reason)),
    );
    lines.join("\n")
}
