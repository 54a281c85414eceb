//! One attempt at a run on a server, from its frozen input to the end of its remote run.

use std::sync::Arc;

use cts_bundle::UnpackedBundle;
use cts_core::runs::RunKind;
use cts_core::{RemoteWorkspace, RunInput, TaskName};
use cts_hcp_terraform::Server;
use cts_terraform::{
    OutputLine, OutputSink, OutputStream, RenderSettings, StopSignal, TaskDirectory,
};

use crate::leased_run::LeasedRun;
use crate::redaction::Redactor;
use crate::remote_driver::RemoteDriver;
use crate::remote_driver::error::RemoteError;
use crate::remote_driver::start_permit::StartPermit;
use crate::remote_driver::workspace::is_disposable;

/// An attempt whose run happens on a server. A worker has hundreds of them at a time, so they are small.
pub(crate) struct RemoteAttempt<'r> {
    pub(crate) run: &'r LeasedRun,
    pub(crate) driver: &'r RemoteDriver,
    pub(crate) kind: RunKind,
    pub(crate) task: TaskName,
    /// Names of the outputs that an apply reports.
    pub(crate) outputs: Vec<String>,
    pub(crate) directory: TaskDirectory,
    pub(crate) output: Arc<dyn OutputSink>,
    pub(crate) order: StopSignal,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) start_permit: StartPermit,
}

/// Everything that is of no use once the remote run has begun.
pub(crate) struct Given {
    pub(crate) input: RunInput,
    pub(crate) settings: Arc<RenderSettings>,
    /// Variables of the environment that providers of the task set.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) bundle: Option<UnpackedBundle>,
}

impl RemoteAttempt<'_> {
    /// Waits for a permit, if the run has released its own.
    pub(super) async fn take_start_permit(&self) {
        let permits = &self.driver.start_permits;
        permits.take_again(&self.start_permit).await;
    }

    /// Removes a workspace that was made only for an inspection, unless it now has resources.
    pub(super) async fn remove_disposable(&self, workspace: &RemoteWorkspace) {
        let removed = async {
            let server = self.server().await?;
            let tags = server.tags(&workspace.id).await?.into_iter().collect();
            if is_disposable(&tags) {
                server.safe_delete_workspace(&workspace.id).await?;
            }
            Ok::<_, RemoteError>(())
        };
        if let Err(error) = removed.await {
            tracing::info!(
                task_name = self.run.lease.task_name,
                workspace = workspace.name,
                error = %cts_core::Chain(&error),
                "a workspace that an inspection has made may be left"
            );
        }
    }

    pub(super) async fn server(&self) -> Result<Server, RemoteError> {
        self.driver.server(&self.run.shared.values).await
    }

    /// Adds a line of cts to the log of the run.
    pub(super) fn say(&self, text: &str) {
        let line = OutputLine::new(OutputStream::Stdout, format!("cts: {text}"));
        self.output.line(line);
    }
}
