//! Parts of runs and commands as texts.

use cts_proto::run::v1::Run;

use crate::address::escape;
use crate::viewer::Leave;

/// Numbers of the resources that a run has changed or would change; empty if it came to neither.
pub(super) fn resources(run: &Run) -> String {
    let resources = run.details.as_ref().and_then(|details| details.resources);
    let Some(resources) = resources else {
        return String::new();
    };
    let counts = [
        (resources.added, "added"),
        (resources.changed, "changed"),
        (resources.destroyed, "destroyed"),
        (resources.imported, "imported"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<_> = counts
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if counts.is_empty() {
        return "nothing changed".to_owned();
    }
    counts.join(", ")
}

/// Commands about a task, for a shell with `CTS_ADDRESS` and, where callers need one, `CTS_TOKEN`.
pub(super) fn commands(name: &str, leave: Leave) -> Vec<String> {
    let (word, segment) = (shell_word(name), escape(name));
    let token = match leave {
        Leave::Nothing => "",
        Leave::Logout | Leave::Certificate => "-H \"Authorization: Bearer $CTS_TOKEN\" ",
    };
    let curl = |end: &str| format!("curl {token}\"$CTS_ADDRESS/v1/tasks/{segment}{end}\"");
    vec![
        format!("cts task explain {word}"),
        format!("cts task logs {word}"),
        format!("cts runs list -task {word}"),
        curl("/explain"),
        curl("/state"),
    ]
}

/// A word of a shell, in quotes where it needs some.
fn shell_word(text: &str) -> String {
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || b"-_.".contains(&c);
    if !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
