//! Where a plan differs from the plan that people were shown before, without values, keys of maps and deposed keys: everybody
//! who may read sees these texts.

use std::collections::{BTreeMap, HashMap};

use cts_core::excerpt;
use cts_proto::run::v1::{PlanData, PlanExtent, PlannedAttribute, PlannedChange};

use super::paths::without_keys;

/// Most addresses that are named.
const ADDRESSES: usize = 5;

/// Most attributes of an address that are named.
const PATHS: usize = 3;

/// Longest address or path, in characters.
const LONGEST: usize = 100;

/// Most bytes of the lines about addresses.
const BYTES: usize = 850;

/// Where plans of one input differ, the attributes can be left out of the effect.
const HINT: &str =
    "the input is the same: `approval_ignore` of the task leaves attributes out of the effect";

/// Where `plan` differs from the plan that was `shown`: a line for each of the first addresses.
pub(crate) fn differences(plan: &PlanData, shown: &PlanData, same_input: bool) -> Vec<String> {
    let is_kept =
        |plan: &PlanData| matches!(plan.extent(), PlanExtent::All | PlanExtent::Addresses);
    if !is_kept(plan) || !is_kept(shown) {
        return vec!["the addresses of the plans are not kept".to_owned()];
    }
    let mut parts: BTreeMap<_, [Option<Part<'_>>; 2]> = BTreeMap::new();
    for (side, plan) in [plan, shown].into_iter().enumerate() {
        for (place, part) in parts_of(plan) {
            parts.entry(place).or_default()[side] = Some(part);
        }
    }
    let (mut more, mut bytes) = (0, 0);
    let mut has_paths = false;
    let mut lines = Vec::new();
    for ((address, detail), [now, then]) in parts {
        let difference = match (now, then) {
            (Some(now), Some(then)) if now.effect == then.effect => continue,
            (Some(now), Some(then)) => now.difference(then, &mut has_paths),
            (Some(_), None) => "only in the new plan".to_owned(),
            (None, _) => "only in the plan before".to_owned(),
        };
        let is_invoked = now.or(then).is_some_and(|part| part.change.is_none());
        let address = excerpt(address, LONGEST);
        let detail = match detail {
            "" => String::new(),
            event if is_invoked => format!(" ({})", excerpt(event, LONGEST)),
            _key => " (deposed)".to_owned(),
        };
        let line = format!("{address}{detail}: {difference}");
        if more > 0 || lines.len() == ADDRESSES || bytes + line.len() > BYTES {
            more += 1;
            continue;
        }
        bytes += line.len();
        lines.push(line);
    }
    if more > 0 {
        lines.push(format!("and {more} more addresses"));
    }
    if lines.is_empty() {
        lines.push("no address: the state that is changed differs".to_owned());
    }
    if same_input && has_paths {
        lines.push(HINT.to_owned());
    }
    lines
}

/// A part of a plan that has an effect.
#[derive(Debug, Clone, Copy)]
struct Part<'p> {
    effect: &'p str,
    /// `None` for an action of a provider.
    change: Option<&'p PlannedChange>,
}

/// The parts of a plan by their address, and the key of a deposed object or the trigger of an action.
fn parts_of(plan: &PlanData) -> impl Iterator<Item = ((&str, &str), Part<'_>)> {
    let changes = plan.changes.iter().filter(|it| !it.effect.is_empty());
    let changes = changes.map(|it| {
        let place = (it.address.as_str(), it.deposed.as_str());
        let (effect, change) = (it.effect.as_str(), Some(it));
        (place, Part { effect, change })
    });
    let invocations = plan.invocations.iter().map(|it| {
        let place = (it.address.as_str(), it.event.as_str());
        let (effect, change) = (it.effect.as_str(), None);
        (place, Part { effect, change })
    });
    changes.chain(invocations)
}

impl Part<'_> {
    /// How this part differs from that of the plan before.
    fn difference(self, then: Self, has_paths: &mut bool) -> String {
        let (Some(now), Some(then)) = (self.change, then.change) else {
            return "its values".to_owned();
        };
        if now.actions != then.actions {
            return "its actions".to_owned();
        }
        let paths = differing_paths(now, then);
        if paths.is_empty() {
            return "values that are not kept".to_owned();
        }
        *has_paths = true;
        let first = paths.iter().take(PATHS);
        let first: Vec<String> = first.map(|path| excerpt(path, LONGEST)).collect();
        match paths.len().saturating_sub(PATHS) {
            0 => first.join(", "),
            more => format!("{} and {more} more attributes", first.join(", ")),
        }
    }
}

/// The attributes with different values, or with different hashes of hidden values.
fn differing_paths<'p>(now: &'p PlannedChange, then: &'p PlannedChange) -> Vec<String> {
    let by_path = |it: &'p PlannedChange| -> HashMap<&'p str, &'p PlannedAttribute> {
        let attributes = it.attributes.iter();
        attributes.map(|it| (it.path.as_str(), it)).collect()
    };
    let (known, before) = (by_path(now), by_path(then));
    let differs = |it: &&PlannedAttribute| {
        let same = before.get(it.path.as_str());
        !it.ignored && same.is_none_or(|same| it.before != same.before || it.after != same.after)
    };
    let is_gone = |it: &&PlannedAttribute| !it.ignored && !known.contains_key(it.path.as_str());
    let differing = now.attributes.iter().filter(differs);
    let differing = differing.chain(then.attributes.iter().filter(is_gone));
    let mut paths: Vec<String> = differing.map(|it| without_keys(&it.path)).collect();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests;
