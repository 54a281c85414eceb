//! The comparison as text, and as JSON.

use std::fmt::Display;

use chrono::{DateTime, Utc};
use cts_cli::{local_time, on_one_line};
use cts_core::TaskOrigin;
use cts_core::brake::FleetMaxShrink;
use cts_core::hidden::{HIDDEN, shown};
use cts_store::declared::InForce;
use serde_json::{Value, json};

use super::compare::{Comparison, Difference};
use super::members::Member;

/// Characters of a value that the text shows.
const SHOWN: usize = 120;

/// A line for each task, with a line for each of its members below.
pub(in crate::commands::configuration) fn text(comparison: &Comparison) -> String {
    let tasks = comparison.tasks.iter().map(|(name, difference)| {
        let (sign, what) = headline(difference);
        let members = members(difference).iter().map(line);
        format!("{sign} {name}: {what}\n{}", members.collect::<String>())
    });
    let tasks: String = tasks.collect();
    let off = |brake| brake_text(brake).unwrap_or_else(|| "off".to_owned());
    let brake = comparison.brake.as_ref();
    let brake = brake.map(|it| changed("fleet_max_shrink", &off(it.in_force), &off(it.configured)));
    let approvals = comparison.approvals.as_ref();
    let approvals = approvals.map(|it| changed("approval", &it.in_force, &it.configured));
    let not_as_configured = match (&brake, &approvals) {
        (None, None) => "",
        (Some(_), None) => ", the brake of the fleet is not",
        (None, Some(_)) => ", the default rule of approval is not",
        (Some(_), Some(_)) => ", the brake of the fleet and the default rule of approval are not",
    };
    let verdict = if comparison.has_equal_tasks() {
        format!("The stored tasks are as configured{not_as_configured}.\n")
    } else {
        "The stored tasks are not as configured.\n".to_owned()
    };
    let others: String = [brake, approvals].into_iter().flatten().collect();
    let in_force = in_force(comparison.in_force.as_ref());
    format!("{tasks}{others}{verdict}{in_force}")
}

fn changed(name: &str, before: &impl Display, configured: &impl Display) -> String {
    format!("~ {name}: {before} -> {configured}\n")
}

fn brake_text(brake: Option<FleetMaxShrink>) -> Option<String> {
    brake.map(|brake| brake.to_string())
}

const fn headline(difference: &Difference) -> (char, &'static str) {
    match difference {
        Difference::Added { deleted: false } => ('+', "only in the configuration"),
        Difference::Added { deleted: true } => (
            '+',
            "only in the configuration; deleted over the API, which lasts until the configuration says something else",
        ),
        Difference::Stored(TaskOrigin::Config) => ('-', "only stored, by an earlier configuration"),
        Difference::Stored(TaskOrigin::Api) => (' ', "only stored, made over the API; it stays"),
        Difference::Pruned => ('-', "only stored, made over the API"),
        Difference::Changed {
            origin: TaskOrigin::Api,
            ..
        } => ('~', "the stored one was made over the API"),
        Difference::Changed { by_api: true, .. } => (
            '~',
            "changed over the API, which lasts until the configuration says something else",
        ),
        Difference::Changed { by_api: false, .. } => ('~', "changed in the configuration"),
    }
}

fn members(difference: &Difference) -> &[Member] {
    match difference {
        Difference::Changed { members, .. } => members,
        _ => &[],
    }
}

fn line(member: &Member) -> String {
    let Member {
        name,
        stored,
        configured,
    } = member;
    let (stored, configured) = (shown(last(name), stored), shown(last(name), configured));
    let name = on_one_line(name);
    if stored == configured {
        return format!("    {name}: changed {HIDDEN}\n");
    }
    format!("    {name}: {} -> {}\n", short(&stored), short(&configured))
}

/// The name of a member without the names of the blocks around it.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The beginning of a value in one line.
fn short(value: &Value) -> String {
    let text = match value {
        Value::Null => "none".to_owned(),
        value => value.to_string(),
    };
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("{}{more}", on_one_line(&shown))
}

fn in_force(in_force: Option<&InForce>) -> String {
    let Some(in_force) = in_force else {
        return "No configuration is in force yet.\n".to_owned();
    };
    let since = since(in_force).map_or_else(String::new, |at| {
        format!(" since {}", local_time(at.fixed_offset()))
    });
    format!(
        "Configuration {} is in force{since}, decided by {}.\n",
        in_force.number,
        on_one_line(&in_force.decided_by)
    )
}

fn since(in_force: &InForce) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_micros(in_force.decided_at)
}

pub(super) fn document(comparison: &Comparison) -> Value {
    let tasks = comparison.tasks.iter().map(|(name, difference)| {
        let (kind, origin, over_api) = match difference {
            Difference::Added { deleted } => ("added", None, *deleted),
            Difference::Stored(origin) => ("stored", Some(*origin), false),
            Difference::Pruned => ("stored", Some(TaskOrigin::Api), false),
            Difference::Changed { origin, by_api, .. } => ("changed", Some(*origin), *by_api),
        };
        let members = members(difference).iter().map(|member| {
            json!({
                "member": member.name,
                "stored": shown(last(&member.name), &member.stored),
                "configured": shown(last(&member.name), &member.configured),
            })
        });
        json!({
            "name": name.as_str(),
            "difference": kind,
            "origin": origin.map(TaskOrigin::as_str),
            "over_api": over_api,
            "members": members.collect::<Vec<_>>(),
        })
    });
    let in_force = comparison.in_force.as_ref().map(|in_force| {
        json!({
            "number": in_force.number,
            "decided_by": in_force.decided_by,
            "decided_at": since(in_force).map(|at| at.to_rfc3339()),
        })
    });
    let brake = comparison.brake.as_ref().map(|brake| {
        json!({
            "in_force": brake_text(brake.in_force),
            "configured": brake_text(brake.configured),
        })
    });
    let approvals = comparison.approvals.as_ref().map(|approvals| {
        json!({
            "in_force": approvals.in_force.to_string(),
            "configured": approvals.configured.to_string(),
        })
    });
    json!({
        "equal": comparison.is_equal(),
        "in_force": in_force,
        "fleet_max_shrink": brake,
        "approval": approvals,
        "tasks": tasks.collect::<Vec<_>>(),
    })
}
