//! All actions of the page (docs/rest.md#routes). Their words are those of the command line (docs/cli.md).

use cts_core::callers::Role;
use percent_encoding::percent_decode_str;

use crate::action::Action;

/// Declares the keys of the actions, and their table: key, label and role; path and call; whether the button `asks` on a
/// screen of its own; names of fields; the sentence after the action.
macro_rules! actions {
    (@plain) => { false };
    (@asks) => { true };
    ($($key:ident $label:literal $role:ident: $path:literal => $call:literal,
        $how:ident [$($field:literal),*], $done:literal;)*) => {
        /// Names an action in this crate.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Key {
            $($key),*
        }

        /// The actions with their keys.
        pub(crate) static ACTIONS: &[(Key, Action)] = &[$((Key::$key, Action {
            path: $path,
            label: $label,
            role: Role::$role,
            call: $call,
            is_confirmed: actions!(@$how),
            fields: &[$($field),*],
            word: stringify!($key),
            done: $done,
        })),*];
    };
}

// A path without a name in braces comes before a path with one in its place.
actions! {
    Run "Run now" Operate: "tasks/{name}/run" => "PATCH /v1/tasks/{name}?run=now&wait=false",
        plain ["key"], "The run is requested.";
    Inspect "Inspect" Operate: "tasks/{name}/inspect" => "PATCH /v1/tasks/{name}?run=inspect",
        plain ["key"], "The task is inspected. Nothing was changed.";
    Enable "Enable" Operate: "tasks/{name}/enable" => "PATCH /v1/tasks/{name}",
        plain [], "The task is enabled. It runs with its next change.";
    Disable "Disable" Operate: "tasks/{name}/disable" => "PATCH /v1/tasks/{name}",
        plain [], "The task is disabled. Changes do not run it.";
    Release "Release" Operate: "tasks/{name}/release" => "POST /v1/tasks/{name}/release",
        asks ["seen"], "The losses that were shown do not block the task any more.";
    DecideState "Decide the state" Admin: "tasks/{name}/state" => "POST /v1/tasks/{name}/state",
        asks ["decision", "from", "confirm"], "The decision is stored. The next run carries it out.";
    PlanDestruction "Plan the destruction" Admin: "tasks/{name}/destroy-plan" => "POST /v1/tasks/{name}/destroy-plan",
        plain ["key"], "The destruction is planned. Nothing was changed.";
    Delete "Delete" Admin: "tasks/{name}/delete" => "DELETE /v1/tasks/{name}",
        asks ["retain", "seen", "run", "confirm"], "The task is deleted after its runs have ended.";
    Cancel "Cancel" Operate: "runs/{id}/cancel" => "POST /v1/runs/{id}/cancel",
        asks ["seen"], "The run is cancelled, or stops when Terraform has finished what it has begun.";
    CancelByForce "Cancel by force" Operate: "runs/{id}/cancel-force" => "POST /v1/runs/{id}/cancel",
        asks ["seen", "confirm"], "The run is ended by force.";
    ApproveSet "Approve all that wait" Approve: "approvals/approve" => "POST /v1/approvals/approve",
        asks ["task", "set", "comment", "confirm"], "The effects are approved.";
    Reopen "Reopen" Approve: "approvals/reopen" => "POST /v1/approvals/reopen",
        plain ["task"], "The rejection is forgotten. The task runs and asks again.";
    Approve "Approve" Approve: "approvals/{id}/approve" => "POST /v1/approvals/{id}/approve",
        asks ["effect", "seen", "comment", "confirm"], "The effect is approved.";
    Reject "Reject" Approve: "approvals/{id}/reject" => "POST /v1/approvals/{id}/reject",
        asks ["effect", "seen", "comment", "confirm"], "The effect is rejected. It is not asked for again.";
    ReleaseBrake "Release the brake" Operate: "brake/release" => "POST /v1/brake",
        asks ["lost", "of", "confirm"], "The brake of the fleet is not set any more.";
    Drain "Drain" Operate: "workers/{id}/drain" => "POST /v1/workers/{id}/drain",
        asks [], "The worker finishes its runs, takes nothing new and leaves.";
}

impl Key {
    /// The action with this key.
    pub(crate) fn action(self) -> &'static Action {
        &ACTIONS[self as usize].1
    }
}

/// The action at these decoded segments, and the segment that its path has in braces; empty without one.
pub(crate) fn at(segments: &[&str]) -> Option<(Key, String)> {
    ACTIONS.iter().find_map(|(key, action)| {
        let wanted: Vec<&str> = action.path.split('/').collect();
        let is_name = |wanted: &str, given: &str| wanted.starts_with('{') && !given.is_empty();
        let mut pairs = wanted.iter().zip(segments);
        let is_at = wanted.len() == segments.len()
            && pairs.all(|(wanted, given)| wanted == given || is_name(wanted, given));
        let place = wanted.iter().position(|wanted| wanted.starts_with('{'));
        let target = place.map_or("", |place| segments.get(place).copied().unwrap_or_default());
        is_at.then(|| (*key, target.to_owned()))
    })
}

/// The action at this path, as sent.
pub(crate) fn find(path: &str) -> Option<(Key, String)> {
    let decoded = |segment| percent_decode_str(segment).decode_utf8().ok();
    let segments: Vec<_> = path.split('/').map(decoded).collect::<Option<_>>()?;
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    at(&segments)
}
