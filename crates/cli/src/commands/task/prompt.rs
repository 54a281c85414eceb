//! Asking before something is done (docs/cli.md#the-prompt).

use super::session::{ExitStatus, Session};
use super::ui::AskError;

/// For a question that an input without a terminal does not answer.
const NO_ANSWER: &str =
    "Nothing answers the question: run the command on a terminal, or approve with -auto-approve";

/// Action on a task that needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Creating,
    Deleting,
    Enabling,
}

impl Action {
    const fn word(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Deleting => "deleting",
            Self::Enabling => "enabling",
        }
    }
}

/// Asks whether to carry out the plan above.
pub(super) async fn approve_plan(
    session: &mut Session<'_>,
    action: Action,
    name: &str,
) -> Result<bool, ExitStatus> {
    let doing = match action {
        Action::Creating => "Creating",
        Action::Enabling => "Enabling",
        Action::Deleting => "Deleting",
    };
    let ui = &mut session.ui;
    ui.info(&format!(
        "{doing} the task will perform the actions described above."
    ));
    ui.output(&format!(
        "Do you want to perform these actions for '{name}'?"
    ));
    ui.output(" - This action cannot be undone.");
    ui.output(
        " - The actions of Terraform may differ from those above if the monitored services have changed.",
    );
    approve(session, action, name).await
}

/// Asks. Only `yes` is a yes; a refusal has been shown when this returns.
pub(super) async fn approve(
    session: &mut Session<'_>,
    action: Action,
    name: &str,
) -> Result<bool, ExitStatus> {
    let cancelled = format!("Cancelled {} task '{name}'", action.word());
    ask(session, &cancelled).await
}

/// Asks, with `cancelled` as the message for declining.
pub(super) async fn ask(session: &mut Session<'_>, cancelled: &str) -> Result<bool, ExitStatus> {
    let ui = &mut session.ui;
    ui.output("");
    ui.output("Only 'yes' will be accepted to approve, enter 'no' or leave blank to reject.");
    ui.output("");
    let answer = ui.ask("Enter a value:").await;
    match answer {
        Ok(answer) => {
            ui.output("");
            if answer == "yes" {
                return Ok(true);
            }
            ui.output(cancelled);
            Ok(false)
        }
        Err(error) => {
            let headline = format!("Error asking for approval: {error}");
            let hint = match error {
                AskError::EndOfInput if session.is_ours() => NO_ANSWER,
                _ => "",
            };
            Err(session.fail(&headline, hint))
        }
    }
}
