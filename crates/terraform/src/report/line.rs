//! Kinds of lines in Terraform's output.

use cts_proto::run::v1::{ResourceAction, ResourceCounts};

use super::address::split_address;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'t> {
    /// The planned action at a resource.
    Planned {
        address: &'t str,
        action: ResourceAction,
    },
    /// A finished action at a resource.
    Done {
        address: &'t str,
        action: ResourceAction,
    },
    /// The last line of a plan.
    PlanSummary(ResourceCounts),
    /// The last line of an apply.
    ApplySummary(ResourceCounts),
    /// Any other line that is not part of a diagnostic.
    Progress,
    /// Anything else.
    Text,
}

/// Texts after the address of a resource in a plan, and the planned action.
const PLANNED: [(&str, ResourceAction); 8] = [
    (" will be created", ResourceAction::Create),
    (" will be updated in-place", ResourceAction::Update),
    (" will be destroyed", ResourceAction::Delete),
    (" must be replaced", ResourceAction::Replace),
    (" will be replaced", ResourceAction::Replace),
    (" is tainted, so must be replaced", ResourceAction::Replace),
    (
        " is tainted, so it must be replaced",
        ResourceAction::Replace,
    ),
    (" will be imported", ResourceAction::Import),
];

/// Texts after the address of a resource that was changed, and the action.
const DONE: [(&str, ResourceAction); 4] = [
    (": Creation complete after ", ResourceAction::Create),
    (": Modifications complete after ", ResourceAction::Update),
    (": Destruction complete after ", ResourceAction::Delete),
    (": Import complete", ResourceAction::Import),
];

/// Beginnings of lines that end a warning.
const PROGRESS: [&str; 9] = [
    "Terraform used the selected providers",
    "Terraform will perform the following actions",
    "Terraform planned the following actions",
    "Terraform has been successfully initialized",
    "Initializing ",
    "Outputs:",
    "Changes to Outputs:",
    "Acquiring state lock",
    "Releasing state lock",
];

/// Classifies a whole line of standard output.
pub(super) fn read(text: &str) -> Line<'_> {
    if let Some(rest) = text.strip_prefix("  # ") {
        return planned(rest).unwrap_or(Line::Text);
    }
    if let Some(counts) = text.strip_prefix("Apply complete! Resources: ") {
        return counted(counts).map_or(Line::Progress, Line::ApplySummary);
    }
    if let Some(counts) = text.strip_prefix("Destroy complete! Resources: ") {
        return counted(counts).map_or(Line::Progress, Line::ApplySummary);
    }
    if let Some(counts) = text.strip_prefix("Plan: ") {
        return counted(counts).map_or(Line::Text, Line::PlanSummary);
    }
    if text.starts_with("No changes. ") {
        return Line::PlanSummary(ResourceCounts::default());
    }
    if PROGRESS.iter().any(|begin| text.starts_with(begin)) {
        return Line::Progress;
    }
    done(text).unwrap_or(Line::Text)
}

fn planned(text: &str) -> Option<Line<'_>> {
    let (address, rest) = split_address(text)?;
    let rest = behind_deposed(rest);
    let (_, action) = PLANNED.iter().find(|(begin, _)| rest.starts_with(begin))?;
    Some(Line::Planned {
        address,
        action: *action,
    })
}

fn done(text: &str) -> Option<Line<'_>> {
    let (address, rest) = split_address(text)?;
    let rest = behind_deposed(rest);
    if let Some((_, action)) = DONE.iter().find(|(begin, _)| rest.starts_with(begin)) {
        return Some(Line::Done {
            address,
            action: *action,
        });
    }
    // `Creating...`, `Still creating...`, `Read complete`, output of a provisioner, …
    let is_progress = rest.starts_with(": ") || rest.starts_with(" (");
    is_progress.then_some(Line::Progress)
}

/// Strips the name of a replaced object that still exists, which follows the address: ` (deposed object
/// 1a2b3c4d)`, or ` (1a2b3c4d)`.
fn behind_deposed(text: &str) -> &str {
    let name = text
        .strip_prefix(" (")
        .and_then(|rest| rest.split_once(')'));
    let Some((name, rest)) = name else {
        return text;
    };
    let key = name.strip_prefix("deposed object ").unwrap_or(name);
    let is_key = key.len() == 8 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_key { rest } else { text }
}

/// `1 to import, 2 to add, 0 to change, 1 to destroy.`, or `2 added, 0 changed, 1 destroyed.` Numbers of
/// anything else are passed over.
fn counted(text: &str) -> Option<ResourceCounts> {
    let mut counts = ResourceCounts::default();
    for part in text.trim_end().trim_end_matches('.').split(", ") {
        let (number, what) = part.split_once(' ')?;
        let number: u32 = number.parse().ok()?;
        match what.strip_prefix("to ").unwrap_or(what) {
            "add" | "added" => counts.added = number,
            "change" | "changed" => counts.changed = number,
            "destroy" | "destroyed" => counts.destroyed = number,
            "import" | "imported" => counts.imported = number,
            _ => {}
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(added: u32, changed: u32, destroyed: u32, imported: u32) -> ResourceCounts {
        ResourceCounts {
            added,
            changed,
            destroyed,
            imported,
        }
    }

    #[test]
    fn summaries_are_counted() {
        let plan = |text| read(text);
        assert_eq!(
            plan("Plan: 1 to add, 2 to change, 3 to destroy."),
            Line::PlanSummary(counts(1, 2, 3, 0))
        );
        assert_eq!(
            plan("Plan: 4 to import, 1 to add, 2 to change, 3 to destroy, 1 to forget."),
            Line::PlanSummary(counts(1, 2, 3, 4))
        );
        assert_eq!(
            plan("No changes. Infrastructure is up-to-date."),
            Line::PlanSummary(counts(0, 0, 0, 0))
        );
        assert_eq!(
            plan(
                "Apply complete! Resources: 1 imported, 2 added, 0 changed, 4294967295 destroyed."
            ),
            Line::ApplySummary(counts(2, 0, u32::MAX, 1))
        );
        assert_eq!(
            plan("Destroy complete! Resources: 3 destroyed."),
            Line::ApplySummary(counts(0, 0, 3, 0))
        );
        assert_eq!(plan("Plan: many to add."), Line::Text);
        assert_eq!(
            plan("Apply complete! Resources: 4294967296 added."),
            Line::Progress
        );
    }

    #[test]
    fn changes_are_told_from_everything_else() {
        let done = |address, action| Line::Done { address, action };
        let planned = |address, action| Line::Planned { address, action };
        for (text, expected) in [
            (
                "a.b: Creation complete after 0s [id=x]",
                done("a.b", ResourceAction::Create),
            ),
            (
                "a.b[0]: Modifications complete after 1m2s",
                done("a.b[0]", ResourceAction::Update),
            ),
            (
                "a.b: Destruction complete after 0s",
                done("a.b", ResourceAction::Delete),
            ),
            (
                "a.b (deposed object 12ab34cd): Destruction complete after 0s",
                done("a.b", ResourceAction::Delete),
            ),
            (
                "a.b: Import complete [id=x]",
                done("a.b", ResourceAction::Import),
            ),
            ("a.b: Creating...", Line::Progress),
            (
                "a.b (local-exec): c.d: Creation complete after 0s",
                Line::Progress,
            ),
            ("a.b: Still creating... [00m10s elapsed]", Line::Progress),
            (" a.b: Creation complete after 0s", Line::Text),
            ("x a.b: Creation complete after 0s", Line::Text),
            (
                "  # a.b will be created",
                planned("a.b", ResourceAction::Create),
            ),
            (
                "  # a.b is tainted, so must be replaced",
                planned("a.b", ResourceAction::Replace),
            ),
            (
                "  # a.b (deposed object 12ab34cd) will be destroyed",
                planned("a.b", ResourceAction::Delete),
            ),
            ("  # a.b will be read during apply", Line::Text),
            ("  # (because a.b will be created)", Line::Text),
            ("      # a.b will be created", Line::Text),
            (
                "Terraform will perform the following actions:",
                Line::Progress,
            ),
            ("", Line::Text),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
