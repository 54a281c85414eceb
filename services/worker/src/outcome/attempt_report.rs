//! Observations of an attempt in addition to its outcome, without secrets and bounded.

use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::RunKind;
use cts_core::state::TerraformState;
use cts_proto::run::v1::{RunDetails, RunOutput};
use cts_rpc::convert::{bounded_details, duration_to_wire, edited_details};
use cts_terraform::{CommandError, CommandFailure, Report};

use crate::outcome::attempt_error::AttemptError;
use crate::outcome::module_directory::ModuleDirectory;
use crate::redaction::Redactor;

/// An attempt whose secrets are known.
#[derive(Debug)]
pub(crate) struct AttemptReport {
    kind: RunKind,
    /// Removes the secrets of the attempt from texts.
    pub(crate) redactor: Arc<Redactor>,
    /// Reads the output of the attempt, which is redacted before: a cut text holds no half of a secret.
    pub(crate) report: Arc<Report>,
    /// Directory of the module, if the module is local.
    module: Option<ModuleDirectory>,
    render: Option<Duration>,
    /// Outputs of the module, after an apply.
    pub(crate) outputs: Vec<RunOutput>,
    /// The state of the task, after Terraform may have changed it.
    pub(crate) state: Option<TerraformState>,
    /// Page of the run on its server.
    pub(crate) remote_url: Option<String>,
}

impl AttemptReport {
    pub(crate) fn new(
        kind: RunKind,
        module: Option<ModuleDirectory>,
        redactor: &Arc<Redactor>,
        report: &Arc<Report>,
    ) -> Self {
        Self {
            kind,
            redactor: Arc::clone(redactor),
            report: Arc::clone(report),
            module,
            render: None,
            outputs: Vec::new(),
            state: None,
            remote_url: None,
        }
    }

    /// All steps before Terraform are done.
    pub(crate) fn rendered(&mut self, took: Duration) {
        self.render = Some(took);
    }

    /// Reads diagnostics that stand in an error and not in the output.
    pub(crate) fn read_errors(&self, error: &AttemptError) {
        if let AttemptError::Terraform(CommandError {
            failure: CommandFailure::Invalid { diagnostics },
            ..
        }) = error
        {
            self.report.read_errors(&self.redactor.redact(diagnostics));
        }
    }

    /// A text of Terraform without secrets, with the user's paths of a local module.
    pub(crate) fn shown(&self, text: &str) -> String {
        let redacted = self.redactor.redact(text);
        match &self.module {
            Some(module) => module.restore(&redacted),
            None => redacted.into_owned(),
        }
    }

    /// The details so far. A secret of several lines shows only now that they are together.
    pub(crate) fn details(&self) -> RunDetails {
        let mut details = self.report.details(self.kind);
        details.phases.get_or_insert_default().render = self.render.map(duration_to_wire);
        details.remote_url = self.remote_url.clone().unwrap_or_default();
        details.outputs.clone_from(&self.outputs);
        bounded_details(edited_details(details, |text| self.shown(text)))
    }
}
