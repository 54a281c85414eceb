//! The record of a call that changes something, or was refused (docs/access.md#audit).

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::callers::caller::Caller;
use crate::callers::roles::UnknownWord;
use crate::engine::hidden::{HIDDEN, is_secret_name, without_secrets};
use crate::spelled;
use crate::words::excerpt::excerpt;
use crate::words::trace::RunTrace;

/// Maximum stored bytes of one argument, of a target and of a reason.
pub const LONGEST_ARGUMENT: usize = 1024;

/// Maximum number of stored arguments of one call.
const MOST_ARGUMENTS: usize = 32;

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Its caller.
    pub caller: Caller,
    /// The call.
    pub action: AuditAction,
    /// The task, run, worker, token or person that the call names; empty if it names none. For a refused request its path.
    pub target: String,
    /// Its arguments by name, without secrets.
    pub arguments: BTreeMap<String, String>,
    /// The outcome of the call.
    pub outcome: AuditOutcome,
    /// The id of the request, as in the log; empty without one.
    pub request_id: String,
    /// Number of calls that this record stands for: 1, except for refused requests that are counted together.
    pub count: u32,
    /// The trace of the call, for the run that the call requests. Not recorded.
    pub trace: Option<RunTrace>,
}

spelled! {
    /// Calls that are recorded.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum AuditAction {
        /// A task is created.
        CreateTask = "task.create",
        /// A task is enabled, disabled, run or inspected.
        UpdateTask = "task.update",
        /// A task gets a different declaration.
        ReplaceTask = "task.replace",
        /// A task is deleted.
        DeleteTask = "task.delete",
        /// The destruction of a task is planned.
        PlanDestruction = "task.plan_destruction",
        /// A blocked task is released.
        ReleaseTask = "task.release",
        /// The Terraform state of a task is chosen.
        DecideState = "task.decide_state",
        /// A run is cancelled.
        CancelRun = "run.cancel",
        /// A worker is drained.
        DrainWorker = "worker.drain",
        /// The brake of the fleet is released.
        ReleaseBrake = "brake.release",
        /// Effects of plans are approved.
        Approve = "approval.approve",
        /// The effect of a plan is rejected.
        Reject = "approval.reject",
        /// Rejected effects of a task are reopened.
        Reopen = "approval.reopen",
        /// A configuration is put in force.
        ApplyConfiguration = "configuration.apply",
        /// A token is created.
        CreateToken = "token.create",
        /// A token is revoked.
        RevokeToken = "token.revoke",
        /// A session of the page begins.
        BeginSession = "session.begin",
        /// A session of the page ends by a logout.
        EndSession = "session.end",
        /// Sessions of the page are revoked.
        RevokeSessions = "session.revoke",
        /// A request that the access rules refuse.
        Request = "request",
    }
}

/// How a recorded call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditOutcome {
    /// The change is made.
    Done,
    /// The caller lacks the right, or the call is not possible now; with the reason.
    Refused(String),
    /// The change began and did not succeed; with the error.
    Failed(String),
}

impl AuditRecord {
    /// The record of a call that succeeds.
    pub fn new(caller: Caller, action: AuditAction, target: &str) -> Self {
        Self {
            caller,
            action,
            target: excerpt(target, LONGEST_ARGUMENT),
            arguments: BTreeMap::new(),
            outcome: AuditOutcome::Done,
            request_id: String::new(),
            count: 1,
            trace: None,
        }
    }

    /// Adds an argument. Secrets are hidden: by the argument's name, and in URLs of its value.
    #[must_use]
    pub fn with(mut self, name: &str, value: &(impl ToString + ?Sized)) -> Self {
        if self.arguments.len() < MOST_ARGUMENTS {
            let value = if is_secret_name(name) {
                HIDDEN.to_owned()
            } else {
                excerpt(&without_secrets(&value.to_string()), LONGEST_ARGUMENT)
            };
            self.arguments.insert(name.to_owned(), value);
        }
        self
    }

    /// Returns the record with this outcome.
    #[must_use]
    pub fn ended(mut self, outcome: AuditOutcome) -> Self {
        self.outcome = match outcome {
            AuditOutcome::Done => AuditOutcome::Done,
            AuditOutcome::Refused(reason) => AuditOutcome::Refused(shown(&reason)),
            AuditOutcome::Failed(reason) => AuditOutcome::Failed(shown(&reason)),
        };
        self
    }
}

fn shown(reason: &str) -> String {
    excerpt(&without_secrets(reason), LONGEST_ARGUMENT)
}

impl FromStr for AuditAction {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|action| action.as_str() == text);
        found.ok_or_else(|| UnknownWord(text.to_owned()))
    }
}

impl AuditOutcome {
    /// The name, as in answers and in the database.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused(_) => "refused",
            Self::Failed(_) => "failed",
        }
    }

    /// The reason or the error; empty for a change that is made.
    pub fn reason(&self) -> &str {
        match self {
            Self::Done => "",
            Self::Refused(reason) | Self::Failed(reason) => reason,
        }
    }

    /// The outcome with this name and reason.
    pub fn parse(name: &str, reason: &str) -> Option<Self> {
        match name {
            "done" => Some(Self::Done),
            "refused" => Some(Self::Refused(reason.to_owned())),
            "failed" => Some(Self::Failed(reason.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callers::caller::CallerKind;

    #[test]
    fn arguments_hide_secrets_and_stay_short() {
        let caller = Caller::new(CallerKind::Token, "ci", None);
        let record = AuditRecord::new(caller, AuditAction::CreateTask, "web\n1")
            .with("module", "git::https://user:s3cret@git.example/m")
            .with("api_token", "s3cret")
            .with("long", &"x".repeat(5000));
        assert_eq!(record.target, "web\\n1");
        let shown = format!("{record:?}");
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(record.arguments["long"].len() < 1100);
    }

    #[test]
    fn names_are_read_back() {
        for action in AuditAction::ALL {
            assert_eq!(action.as_str().parse(), Ok(action));
        }
        for outcome in [
            AuditOutcome::Done,
            AuditOutcome::Refused("r".into()),
            AuditOutcome::Failed("f".into()),
        ] {
            let read = AuditOutcome::parse(outcome.as_str(), outcome.reason());
            assert_eq!(read, Some(outcome));
        }
    }
}
