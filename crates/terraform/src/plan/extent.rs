//! How much of a plan is kept.

use cts_proto::run::v1::{PlanData, PlanExtent};

/// Most bytes of a plan that are kept, before compression.
pub const MOST_PLAN_BYTES: usize = 16 * 1024 * 1024;

/// Leaves out the values of a plan.
pub fn without_attributes(plan: &mut PlanData) {
    plan.set_extent(PlanExtent::Addresses);
    for change in &mut plan.changes {
        change.attributes = Vec::new();
    }
    for output in &mut plan.outputs {
        (output.before, output.after) = (None, None);
    }
}

/// Leaves out everything of a plan but its numbers, its effect, and the reasons why it is unclear.
pub fn counts_only(plan: &mut PlanData) {
    plan.set_extent(PlanExtent::Counts);
    plan.changes = Vec::new();
    plan.outputs = Vec::new();
    plan.invocations = Vec::new();
    plan.deferred = Vec::new();
}
