//! Fingerprints of the effects that wait together, and what has changed since.

use std::collections::BTreeMap;

use cts_core::Digest;
use cts_store::Approval;

/// Digits of the digest of a set, which decides.
const SET_DIGITS: usize = 32;

/// Digits of each task and of its effect, which follow the digest.
const TASK_DIGITS: usize = 8;
const EFFECT_DIGITS: usize = 6;

/// Fingerprint of effects in the order of their tasks; empty without any. A few digits of each task and effect tell later
/// which have changed.
pub(super) fn set_of(waiting: &[&Approval]) -> String {
    if waiting.is_empty() {
        return String::new();
    }
    let parts = waiting.iter();
    let parts = parts.flat_map(|it| [it.task.as_str().as_bytes(), it.effect.as_bytes()]);
    let mut set = Digest::of_parts(parts).to_string();
    set.truncate(SET_DIGITS);
    for it in waiting {
        set += &digits(it.task.as_str(), TASK_DIGITS);
        set += &digits(&it.effect, EFFECT_DIGITS);
    }
    set
}

fn digits(text: &str, number: usize) -> String {
    let mut digits = Digest::of(text.as_bytes()).to_string();
    digits.truncate(number);
    digits
}

/// Tasks in which the waiting effects differ from those of a set. Empty for a set that does not tell its tasks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SetDifference {
    pub(super) came: Vec<String>,
    pub(super) went: Vec<String>,
    pub(super) changed: Vec<String>,
}

impl SetDifference {
    /// Compares the waiting effects with a set; `names` are those of all tasks that the caller may see.
    pub(super) fn since<'n>(
        set: &str,
        waiting: &[&Approval],
        names: impl Iterator<Item = &'n str>,
    ) -> Self {
        let mut shown = effects_by_task(set);
        let mut difference = Self::default();
        if shown.is_empty() {
            return difference;
        }
        for it in waiting {
            let task = it.task.as_str();
            match shown.remove(&*digits(task, TASK_DIGITS)) {
                None => difference.came.push(task.to_owned()),
                Some(effect) if effect != digits(&it.effect, EFFECT_DIGITS) => {
                    difference.changed.push(task.to_owned());
                }
                Some(_same) => {}
            }
        }
        let gone = names.filter(|name| shown.remove(&*digits(name, TASK_DIGITS)).is_some());
        difference.went = gone.map(str::to_owned).collect();
        difference
    }
}

/// The digits of tasks and effects in a set, which may be any text. Empty for a set with other digits, such as one of an
/// earlier version.
fn effects_by_task(set: &str) -> BTreeMap<&str, &str> {
    let parts = set.get(SET_DIGITS..).filter(|_parts| set.is_ascii());
    let mut rest = parts.unwrap_or_default();
    let mut effects = BTreeMap::new();
    while let Some((part, more)) = rest.split_at_checked(TASK_DIGITS + EFFECT_DIGITS) {
        let (task, effect) = part.split_at(TASK_DIGITS);
        effects.insert(task, effect);
        rest = more;
    }
    if !rest.is_empty() {
        effects.clear();
    }
    effects
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cts_core::RunId;
    use cts_proto::run::v1::ApprovalState;
    use cts_store::PlanSummary;
    use uuid::Uuid;

    use super::*;

    fn approval(task: &str, effect: &str) -> Approval {
        Approval {
            task: task.parse().unwrap(),
            effect: effect.into(),
            run: RunId::from_uuid(Uuid::from_u128(1)),
            state: ApprovalState::Waiting,
            summary: PlanSummary::default(),
            asked_at: DateTime::from_timestamp(1_770_110_130, 0).unwrap(),
            gone_at: None,
            decided: None,
            requested_by: None,
            cause: None,
        }
    }

    #[test]
    fn a_set_depends_on_tasks_and_effects() {
        let (api, web) = (approval("api", "a"), approval("web", "b"));
        let set = set_of(&[&api, &web]);
        assert_eq!((set.len(), set_of(&[])), (SET_DIGITS + 28, String::new()));
        assert_ne!(set, set_of(&[&api]));
        assert_ne!(set, set_of(&[&api, &approval("web", "c")]));
    }

    #[test]
    fn names_the_tasks_that_came_went_and_changed() {
        let [api, db, web] = [
            approval("api", "a"),
            approval("db", "b"),
            approval("web", "c"),
        ];
        let set = set_of(&[&api, &db]);
        let names = || ["api", "db", "other", "web"].into_iter();
        let since = |set: &str, waiting: &[&Approval]| SetDifference::since(set, waiting, names());
        assert_eq!(since(&set, &[&api, &db]), SetDifference::default());
        let difference = since(&set, &[&approval("api", "z"), &web]);
        let SetDifference {
            came,
            went,
            changed,
        } = difference;
        assert_eq!(
            (came, went, changed),
            (
                vec!["web".to_owned()],
                vec!["db".to_owned()],
                vec!["api".to_owned()],
            )
        );
        let garbage = [
            "",
            "no set",
            "\u{e9}\u{e9}",
            &set[..SET_DIGITS],
            &set[..SET_DIGITS + 16],
            &"\u{e9}".repeat(40),
        ];
        for garbage in garbage {
            assert_eq!(
                since(garbage, &[&api]),
                SetDifference::default(),
                "{garbage}"
            );
        }
    }
}
