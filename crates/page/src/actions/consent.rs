//! Consent to effects (docs/runs.md#consent): what a person has seen, and how that person confirms it.

use cts_proto::json::Word as _;
use cts_proto::run::v1::{Approval, ApprovalState, PlanCounts};

use super::answers::Consents;
use super::table::Key;
use crate::address::Query;
use crate::form::Field;

/// The changes of an effect in one line, the most harmful first, such as `2 destroyed, 1 replaced`.
pub(crate) fn changes(approval: &Approval) -> String {
    let counts = counts(approval);
    let numbers = [
        (counts.unknown, "with unknown actions"),
        (counts.deleted, "destroyed"),
        (counts.replaced, "replaced"),
        (counts.forgotten, "forgotten"),
        (counts.invoked, "invoked"),
        (counts.updated, "updated"),
        (counts.created, "created"),
        (counts.moved, "moved"),
        (counts.imported, "imported"),
        (counts.deferred, "deferred"),
    ];
    let numbers = numbers.into_iter().filter(|(number, _)| *number > 0);
    let mut parts: Vec<_> = numbers
        .map(|(number, what)| format!("{number} {what}"))
        .collect();
    if !approval.unclear.is_empty() {
        parts.push("not all is shown".to_owned());
    }
    parts.join(", ")
}

/// The state of the consent in words, with the caller that decided.
pub(crate) fn state(approval: &Approval) -> String {
    let word = match approval.state() {
        ApprovalState::Waiting if approval.gone_at.is_some() => "gone for now".to_owned(),
        state => state.word(),
    };
    match approval.decided_by.as_str() {
        "" => word,
        by => format!("{word}, decided by {by}"),
    }
}

/// Whether the effect waits for a decision.
pub(crate) fn is_waiting(approval: &Approval) -> bool {
    approval.state() == ApprovalState::Waiting
}

fn counts(approval: &Approval) -> PlanCounts {
    approval.counts.unwrap_or_default()
}

/// Number of resources that the effect destroys, alone or to create them again.
pub(crate) fn destroyed(approval: &Approval) -> u32 {
    let counts = counts(approval);
    counts.deleted.saturating_add(counts.replaced)
}

/// Whether the effect can take something away, so that consent needs more than a button.
pub(crate) fn is_harmful(approval: &Approval) -> bool {
    let counts = counts(approval);
    let further = [
        counts.forgotten,
        counts.invoked,
        counts.unknown,
        counts.deferred,
    ];
    destroyed(approval) > 0
        || further.iter().any(|number| *number > 0)
        || !approval.unclear.is_empty()
}

/// The fields of both decisions about an effect. `sent` is the form that was sent for the decision `about`.
pub(super) fn fields(approval: &Approval, about: Key, sent: Option<&Query>) -> Vec<Field> {
    let mut fields = vec![
        Field::hidden("effect", &approval.effect),
        Field::hidden("seen", &changes(approval)),
        Field::comment(sent),
    ];
    if is_harmful(approval) {
        let mut accepted = vec![(approval.task_name.clone(), "the name of the task")];
        let number = destroyed(approval);
        if number > 0 {
            accepted.push((number.to_string(), "the number of destroyed resources"));
        }
        // Consent to another effect is not filled in.
        let same = sent.filter(|sent| sent.get("effect") == approval.effect);
        let mut typed = Field::typed(&accepted, same);
        typed.fault = typed.fault.filter(|_| about == Key::Approve);
        fields.push(typed);
    }
    fields
}

/// The fields of the approval of all effects that wait.
pub(super) fn fields_of_set(listed: &Consents, sent: Option<&Query>) -> Vec<Field> {
    let mut fields = vec![Field::hidden("set", &listed.set), Field::comment(sent)];
    let waiting: Vec<_> = listed
        .approvals
        .iter()
        .filter(|it| is_waiting(it))
        .collect();
    if waiting.iter().any(|it| is_harmful(it)) {
        let destroyed: u64 = waiting.iter().map(|it| u64::from(destroyed(it))).sum();
        let accepted = match destroyed {
            0 => (waiting.len().to_string(), "the number of effects"),
            number => (number.to_string(), "the number of destroyed resources"),
        };
        // REST refuses a set that has changed, and names the difference.
        let same = sent.filter(|sent| sent.get("set") == listed.set);
        fields.push(Field::typed(&[accepted], same));
    }
    fields
}
