//! The rest of an approved plan: what a further attempt may do with the consent that its run has used.
//!
//! An apply that was cut off leaves a part of the approved changes. The plan of the next attempt is their rest if each
//! of its changes was approved: the same change with the same values, the second half of an approved replacement, or a
//! change with the same fingerprint. Values that were unknown at consent may have become known, and values that are not
//! part of the effect may differ. Everything else needs consent of its own. The changes of a destruction have fingerprints
//! without values, so the rest of a destruction is any part of its addresses.

use std::collections::{HashMap, HashSet};

use cts_proto::run::v1::planned_value::Value;
use cts_proto::run::v1::{
    PlanData, PlanExtent, PlannedAction, PlannedAttribute, PlannedChange, PlannedValue,
};

use super::facts::is_unclear;

/// Whether `plan` is the rest of the `approved` plan.
pub(crate) fn is_rest(plan: &PlanData, approved: &PlanData) -> bool {
    let Some(rule) = Rule::of(plan, approved) else {
        return false;
    };
    let approved_changes = Approved::of(approved);
    let mut changes = plan.changes.iter().filter(|change| !is_idle(change));
    let mut invocations = plan.invocations.iter();
    changes.all(|change| approved_changes.include(change, rule))
        && invocations.all(|it| approved_changes.effects.contains(it.effect.as_str()))
}

/// How changes are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// By their values, as far as these are kept.
    Values,
    /// By their fingerprints alone.
    Effects,
}

impl Rule {
    /// The rule for these plans; `None` if the plan may do something that the approved plan does not show.
    fn of(plan: &PlanData, approved: &PlanData) -> Option<Self> {
        let extents = [plan.extent(), approved.extent()];
        if extents
            .iter()
            .any(|extent| matches!(extent, PlanExtent::Counts | PlanExtent::Unspecified))
        {
            return None;
        }
        let is_whole = extents == [PlanExtent::All; 2];
        if is_whole && !is_unclear(plan) && !is_unclear(approved) {
            return Some(Self::Values);
        }
        let mut reasons = plan.unclear.iter();
        let mut deferred = plan.deferred.iter();
        let is_as_clear = reasons.all(|reason| approved.unclear.contains(reason))
            && deferred.all(|change| approved.deferred.contains(change));
        is_as_clear.then_some(Self::Effects)
    }
}

/// Whether a change does nothing to any object or address.
fn is_idle(change: &PlannedChange) -> bool {
    let has_no_words = matches!(change.action(), PlannedAction::None | PlannedAction::Read);
    has_no_words && change.effect.is_empty()
}

/// The changes of an approved plan.
struct Approved<'p> {
    /// By address and key of the deposed object.
    changes: HashMap<(&'p str, &'p str), &'p PlannedChange>,
    /// Fingerprints of changes and of actions of providers.
    effects: HashSet<&'p str>,
}

impl<'p> Approved<'p> {
    fn of(plan: &'p PlanData) -> Self {
        let changes = plan.changes.iter();
        let changes = changes.map(|it| ((it.address.as_str(), it.deposed.as_str()), it));
        let effects = plan.changes.iter().map(|it| it.effect.as_str());
        let invoked = plan.invocations.iter().map(|it| it.effect.as_str());
        let effects = effects.chain(invoked).filter(|effect| !effect.is_empty());
        Self {
            changes: changes.collect(),
            effects: effects.collect(),
        }
    }

    /// Whether the change was approved.
    fn include(&self, change: &PlannedChange, rule: Rule) -> bool {
        if self.effects.contains(change.effect.as_str()) {
            return true;
        }
        rule == Rule::Values && (self.has_same(change) || self.has_replacement(change))
    }

    fn at(&self, address: &str, deposed: &str) -> Option<&'p PlannedChange> {
        self.changes.get(&(address, deposed)).copied()
    }

    /// Whether the same change was approved, with equal values where they were known.
    fn has_same(&self, change: &PlannedChange) -> bool {
        let Some(approved) = self.at(&change.address, &change.deposed) else {
            return false;
        };
        let is_done_or = |now: &str, before: &str| now.is_empty() || now == before;
        // An action that changes nothing has no values to compare.
        !matches!(change.action(), PlannedAction::None | PlannedAction::Read)
            && change.actions == approved.actions
            && change.action() == approved.action()
            && change.provider == approved.provider
            && is_done_or(&change.previous_address, &approved.previous_address)
            && is_done_or(&change.importing, &approved.importing)
            && has_equal(change, approved, Side::Before)
            && has_equal(change, approved, Side::After)
    }

    /// Whether the change is the second half of a replacement that was approved: the object is created again, or the
    /// object that the replacement has deposed is destroyed.
    fn has_replacement(&self, change: &PlannedChange) -> bool {
        let Some(approved) = self.at(&change.address, "") else {
            return false;
        };
        let replaces_first = approved.action() == PlannedAction::CreateThenDelete;
        let replaces = replaces_first || approved.action() == PlannedAction::DeleteThenCreate;
        let half = match (change.action(), change.deposed.is_empty()) {
            (PlannedAction::Create, true) if replaces => Side::After,
            (PlannedAction::Delete, false) if replaces_first => Side::Before,
            _ => return false,
        };
        change.provider == approved.provider
            && change.importing.is_empty()
            && change.previous_address.is_empty()
            && has_equal(change, approved, half)
    }
}

/// Values before or after a change.
#[derive(Debug, Clone, Copy)]
enum Side {
    Before,
    After,
}

impl Side {
    fn of(self, attribute: &PlannedAttribute) -> Option<&Value> {
        let value: &Option<PlannedValue> = match self {
            Self::Before => &attribute.before,
            Self::After => &attribute.after,
        };
        value.as_ref()?.value.as_ref()
    }

    fn hash(self, attribute: &PlannedAttribute) -> &[u8] {
        let value = match self {
            Self::Before => &attribute.before,
            Self::After => &attribute.after,
        };
        value.as_ref().map_or(&[], |value| &value.hash)
    }
}

/// Whether a change has the approved values, where these were known. Changes without attributes are never equal: their
/// attributes are not kept.
fn has_equal(change: &PlannedChange, approved: &PlannedChange, side: Side) -> bool {
    if change.attributes.is_empty() || approved.attributes.is_empty() {
        return false;
    }
    let mut known = HashMap::new();
    let mut unknown = HashSet::new();
    for attribute in &approved.attributes {
        match side.of(attribute) {
            None => {}
            Some(Value::Unknown(_)) => {
                unknown.insert(attribute.path.as_str());
            }
            Some(_) => {
                known.insert(attribute.path.as_str(), attribute);
            }
        }
    }
    for attribute in &change.attributes {
        let Some(value) = side.of(attribute) else {
            if known.remove(attribute.path.as_str()).is_some() && !attribute.ignored {
                return false;
            }
            continue;
        };
        let approved = known.remove(attribute.path.as_str());
        let is_equal = match approved {
            _ if attribute.ignored => true,
            Some(approved) => is_same(attribute, value, approved, side),
            None => is_within(&attribute.path, &unknown),
        };
        if !is_equal {
            return false;
        }
    }
    known.values().all(|approved| approved.ignored)
}

fn is_same(
    attribute: &PlannedAttribute,
    value: &Value,
    approved: &PlannedAttribute,
    side: Side,
) -> bool {
    match (value, side.of(approved)) {
        (Value::Json(now), Some(Value::Json(then))) => now == then,
        (Value::Hidden(_), Some(Value::Hidden(_))) => {
            let hash = side.hash(attribute);
            !hash.is_empty() && hash == side.hash(approved)
        }
        _ => false,
    }
}

/// Whether a path is one of these or below one of them.
fn is_within(path: &str, paths: &HashSet<&str>) -> bool {
    let ends = path.match_indices(['.', '[']).map(|(end, _)| end);
    let mut parents = ends.filter_map(|end| path.get(..end));
    paths.contains(path) || parents.any(|parent| paths.contains(parent))
}

#[cfg(test)]
mod tests;
