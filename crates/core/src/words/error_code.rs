//! Stable codes of errors (docs/runbook.md#error-codes).

use std::fmt;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $code:literal,)+) => {
        /// The code of an error: in answers of the REST API, in the log, on the command line and with failed runs.
        ///
        /// Codes are added and never change. docs/runbook.md has a section for each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl ErrorCode {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The code as it is shown.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)+
                }
            }
        }
    };
}

codes! {
    // Requests.
    /// The request is invalid.
    RequestInvalid = "request-invalid",
    /// The body of the request is too large.
    RequestTooLarge = "request-too-large",
    /// The endpoint does not support the method, or the configuration does not offer the endpoint.
    MethodNotAllowed = "method-not-allowed",
    /// The request has no valid credential.
    Unauthenticated = "unauthenticated",
    /// The credential does not allow the request.
    Forbidden = "forbidden",
    /// A page of a different site sends the request.
    ForeignOrigin = "foreign-origin",
    /// The request names a host that is not configured.
    ForeignHost = "foreign-host",
    /// The task does not exist.
    TaskUnknown = "task-unknown",
    /// A task with this name exists.
    TaskExists = "task-exists",
    /// The task is busy, or has changed since it was read.
    TaskBusy = "task-busy",
    /// The run does not exist.
    RunUnknown = "run-unknown",
    /// The run has no plan as data.
    PlanUnknown = "plan-unknown",
    /// The run has no effect that needs consent, or the task has no rejected effect.
    ApprovalUnknown = "approval-unknown",
    /// The effect is decided already, or differs from the effect that the request names.
    ApprovalChanged = "approval-changed",
    /// The worker does not exist.
    WorkerUnknown = "worker-unknown",
    /// The state of the run does not allow the request.
    RunConflict = "run-conflict",
    /// The requested run has failed.
    RunFailed = "run-failed",
    /// The change cannot be made.
    ChangeRefused = "change-refused",
    /// The outcome of the change is not known.
    ChangeUncertain = "change-uncertain",
    /// The replica does not lead, and the API is in the mode of strict followers.
    NotTheLeader = "not-the-leader",
    /// Too many requests are in progress.
    TooManyRequests = "too-many-requests",
    /// No scheduler can be reached.
    NoScheduler = "no-scheduler",
    /// The scheduler is of an earlier version, without this part of the API.
    SchedulerOutdated = "scheduler-outdated",
    /// The scheduler cannot do its work.
    NotHealthy = "not-healthy",
    /// The answer is too large.
    AnswerTooLarge = "answer-too-large",
    /// An error inside of cts.
    Internal = "internal",

    // Starts of processes.
    /// The configuration has problems.
    ConfigurationInvalid = "configuration-invalid",
    /// Settings are not safe, and `security.strict` refuses that.
    SettingsNotSafe = "settings-not-safe",
    /// A setting requires a second setting, or is not possible in this shape.
    SettingsIncomplete = "settings-incomplete",
    /// Consul cannot be reached, or its settings cannot be used.
    ConsulUnusable = "consul-unusable",
    /// Consul has no leader.
    ConsulNoLeader = "consul-no-leader",
    /// Vault cannot be used.
    VaultUnusable = "vault-unusable",
    /// Terraform or OpenTofu is missing or unsuitable.
    EngineUnusable = "engine-unusable",
    /// The settings of a server of HCP Terraform cannot be used.
    RemoteUnusable = "remote-unusable",
    /// The database cannot be used.
    DatabaseUnusable = "database-unusable",
    /// Certificates, keys, authorities or issuers cannot be used.
    CredentialsUnusable = "credentials-unusable",
    /// Telemetry cannot be exported as configured.
    TelemetryUnusable = "telemetry-unusable",
    /// A connection would be plain text, which is not allowed.
    PlaintextRefused = "plaintext-refused",
    /// The address of a service cannot be used.
    AddressInvalid = "address-invalid",
    /// A port cannot be listened on.
    PortUnusable = "port-unusable",
    /// A file or directory cannot be used.
    PathUnusable = "path-unusable",
    /// A different process works in the directory.
    DirectoryLocked = "directory-locked",
    /// The log cannot be set up.
    LogUnusable = "log-unusable",
    /// The operating system refuses something that the process needs.
    ProcessUnusable = "process-unusable",
    /// A part of the process has ended unexpectedly.
    PartEnded = "part-ended",
    /// Tasks of a pass (`-once`, `-inspect`) have failed, or were interrupted.
    PassFailed = "pass-failed",
    /// A command did not get what it requested.
    CommandFailed = "command-failed",

    // Runs.
    /// The worker does not understand the run.
    RunNotUnderstood = "run-not-understood",
    /// The input of the run cannot be fetched.
    InputMissing = "input-missing",
    /// The module cannot be fetched or used.
    ModuleUnusable = "module-unusable",
    /// A dynamic value cannot be read.
    ValueUnreadable = "value-unreadable",
    /// The files of the task cannot be rendered or written.
    TaskFilesUnusable = "task-files-unusable",
    /// An earlier Terraform still works in the task directory.
    TerraformLeftBehind = "terraform-left-behind",
    /// The run was stopped.
    RunStopped = "run-stopped",
    /// A command of Terraform has failed.
    TerraformFailed = "terraform-failed",
    /// The lock of the state was left by a lost worker.
    StateLocked = "state-locked",
    /// The state is not the known state.
    StateRefused = "state-refused",
    /// Infrastructure was destroyed only in part.
    DestructionIncomplete = "destruction-incomplete",
    /// A wait of the run has ended.
    WaitEnded = "wait-ended",
    /// A handler after the apply has failed.
    HandlerFailed = "handler-failed",
    /// A run on a server of HCP Terraform has failed.
    RemoteRunFailed = "remote-run-failed",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const RUNBOOK: &str = include_str!("../../../../docs/runbook.md");

    #[test]
    fn each_code_has_one_section_of_the_runbook_and_each_section_a_code() {
        let (_, sections) = RUNBOOK.split_once("\n## Error codes\n").unwrap();
        let sections = sections.split("\n## ").next().unwrap();
        let headings = sections
            .lines()
            .filter_map(|line| line.strip_prefix("### "));
        let headings: BTreeSet<&str> = headings.collect();
        let codes: BTreeSet<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(headings, codes);
        assert_eq!(codes.len(), ErrorCode::ALL.len());
    }
}
