//! `approval` and `approval_expires`, cts-only keys of the top level: consent for tasks without a rule of their own
//! (docs/runs.md#consent).

use std::ops::RangeInclusive;
use std::time::Duration;

use cts_core::{ApprovalDefaults, ApprovalRule};

use crate::decode::block::Block;
use crate::keys::{Keyed, Keys, Written, read_keys};
use crate::report::sink::Sink;

const EXPIRES: RangeInclusive<Duration> = Duration::from_mins(1)..=Duration::from_hours(24 * 365);

/// The key of a rule, at the top level and in tasks.
pub(crate) const APPROVAL: &str = "approval";

/// Why no task has a rule with the driver `terraform-cloud`.
pub(crate) const NOT_IN_CLOUD: &str =
    "`approval` is not for the driver `terraform-cloud`: the workspace's own approvals are the way";

/// The key of a task for attributes that effects do not have.
pub(crate) const IGNORE: &str = "approval_ignore";

/// The rules with their names in the files.
pub(crate) const RULES: [(&str, ApprovalRule); 3] = [
    (ApprovalRule::Never.as_str(), ApprovalRule::Never),
    (ApprovalRule::Destroy.as_str(), ApprovalRule::Destroy),
    (ApprovalRule::Always.as_str(), ApprovalRule::Always),
];

impl Keyed for ApprovalDefaults {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.choice(APPROVAL, &mut self.rule, &RULES);
        keys.whole_seconds("approval_expires", &mut self.expires, &EXPIRES);
    }
}

/// Reads the keys from the top level.
pub(crate) fn decode_approvals(top: &mut Block<'_>, in_cloud: bool) -> ApprovalDefaults {
    let mut approvals = ApprovalDefaults::default();
    let written = read_keys(&mut approvals, top);
    if in_cloud {
        refuse_in_cloud(approvals.rule, &written, top.sink());
    }
    approvals
}

/// Refuses a rule with the driver `terraform-cloud`, if the rule asks for consent, and warns of what only rules use.
pub(crate) fn refuse_in_cloud(rule: ApprovalRule, written: &Written, sink: &Sink) {
    if let Some(place) = written.place(APPROVAL)
        && rule != ApprovalRule::Never
    {
        sink.error(place, NOT_IN_CLOUD);
    }
    if let Some(place) = written.place(IGNORE) {
        let message = format!(
            "`{IGNORE}` has no effect with the driver `terraform-cloud`, which has no rules"
        );
        sink.warning(place, message);
    }
}
