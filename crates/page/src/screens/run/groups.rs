//! The changes of a plan in groups, the most harmful first.

use cts_proto::run::v1::{PlanCounts, PlanData, PlannedAction, PlannedAttribute, PlannedChange};

use super::value::{Budget, bytes};

/// Changes of one kind.
pub(super) struct Group<'a> {
    pub(super) kind: &'static Kind,
    pub(super) changes: Vec<Change<'a>>,
    /// Number of further changes, which do not fit.
    pub(super) more: usize,
}

/// A change of one resource.
pub(super) struct Change<'a> {
    pub(super) address: &'a str,
    pub(super) notes: Vec<String>,
    /// Attributes that change.
    pub(super) attributes: Vec<&'a PlannedAttribute>,
    /// Number of further attributes that change, which do not fit.
    pub(super) more: usize,
    /// Number of attributes that stay.
    pub(super) unchanged: usize,
}

/// How changes of one kind are shown.
pub(super) struct Kind {
    pub(super) title: &'static str,
    /// End of its class.
    pub(super) class: &'static str,
    pub(super) symbol: &'static str,
    /// Whether the changes, or the attributes of each, are behind a fold.
    pub(super) fold: Fold,
}

#[derive(PartialEq, Eq)]
pub(super) enum Fold {
    Nothing,
    /// All attributes change.
    Attributes,
    Changes,
}

const fn kind(title: &'static str, class: &'static str, symbol: &'static str, fold: Fold) -> Kind {
    Kind {
        title,
        class,
        symbol,
        fold,
    }
}

/// The kinds in the order of the screen.
static KINDS: [Kind; 9] = [
    kind("With unknown actions", "unknown", "?", Fold::Nothing),
    kind("To destroy", "delete", "-", Fold::Attributes),
    kind("To replace", "replace", "-/+", Fold::Nothing),
    kind("To change", "update", "~", Fold::Nothing),
    kind("To create", "create", "+", Fold::Attributes),
    kind(
        "To remove from the state, while the object stays",
        "forget",
        ".",
        Fold::Nothing,
    ),
    kind(
        "To move or to import, without another change",
        "move",
        ">",
        Fold::Nothing,
    ),
    kind("To read during the apply", "read", "<=", Fold::Changes),
    kind("Unchanged", "none", "=", Fold::Changes),
];

fn rank(change: &PlannedChange) -> usize {
    match change.action() {
        PlannedAction::Unspecified => 0,
        PlannedAction::Delete => 1,
        PlannedAction::DeleteThenCreate | PlannedAction::CreateThenDelete => 2,
        PlannedAction::Update => 3,
        PlannedAction::Create => 4,
        PlannedAction::Forget => 5,
        PlannedAction::None
            if !(change.previous_address.is_empty() && change.importing.is_empty()) =>
        {
            6
        }
        PlannedAction::Read => 7,
        PlannedAction::None => 8,
    }
}

/// The changes of the plan in groups, without empty groups.
pub(super) fn groups<'a>(plan: &'a PlanData, budget: &mut Budget) -> Vec<Group<'a>> {
    let mut sorted: [Vec<&PlannedChange>; KINDS.len()] = Default::default();
    for change in &plan.changes {
        if let Some(kind) = sorted.get_mut(rank(change)) {
            kind.push(change);
        }
    }
    let kinds = KINDS.iter().zip(sorted);
    let kinds = kinds.filter(|(_, changes)| !changes.is_empty());
    kinds
        .map(|(kind, changes)| {
            let (changes, more) = budget.take(changes, |it| it.address.len() + it.reason.len());
            Group {
                kind,
                changes: changes.into_iter().map(|it| shown(it, budget)).collect(),
                more,
            }
        })
        .collect()
}

fn shown<'a>(change: &'a PlannedChange, budget: &mut Budget) -> Change<'a> {
    let (changed, same): (Vec<_>, Vec<_>) = change.attributes.iter().partition(|it| it.changed);
    let (attributes, more) = budget.take(changed, |it| {
        it.path.len() + bytes(it.before.as_ref()) + bytes(it.after.as_ref())
    });
    let action = change.action();
    let with = |label: &str, text: &str| (!text.is_empty()).then(|| format!("{label}{text}"));
    let words = match action {
        PlannedAction::Unspecified => change.actions.join(", "),
        PlannedAction::CreateThenDelete => "created before it is destroyed".to_owned(),
        _ => String::new(),
    };
    let notes = [
        with("", &words),
        with("deposed object ", &change.deposed),
        with("moved from ", &change.previous_address),
        with("imported by the id ", &change.importing),
        with("", &change.reason.replace('_', " ")),
    ];
    Change {
        address: &change.address,
        notes: notes.into_iter().flatten().collect(),
        attributes,
        more,
        unchanged: same.len(),
    }
}

/// The numbers of a plan with their words, without zeros.
pub(super) fn numbers(counts: &PlanCounts) -> Vec<(u32, &'static str)> {
    let numbers = [
        (counts.unknown, "with unknown actions"),
        (counts.deleted, "to destroy"),
        (counts.replaced, "to replace"),
        (counts.updated, "to change"),
        (counts.created, "to create"),
        (counts.forgotten, "to forget"),
        (counts.moved, "to move"),
        (counts.imported, "to import"),
        (counts.invoked, "to invoke"),
        (counts.deferred, "deferred"),
        (counts.read, "to read"),
        (counts.unchanged, "unchanged"),
    ];
    numbers
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .collect()
}
