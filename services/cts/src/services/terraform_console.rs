//! `driver.terraform.log`: Terraform's output on our standard error.

use std::io::Write as _;

use cts_runtime::LogFormat;
use cts_terraform::{OutputLine, OutputSink};

/// Writes lines without a prefix; characters that could steer a terminal are escaped as in other lines of the log. In a
/// log of JSON each line is an event (docs/terraform.md#output-and-errors).
#[derive(Debug)]
pub(crate) struct StandardError(pub(crate) LogFormat);

impl OutputSink for StandardError {
    fn line(&self, line: OutputLine) {
        match self.0 {
            LogFormat::Json => tracing::info!(target: "client.terraformcli", "{}", line.text),
            // The reader may be gone, which does not stop Terraform.
            LogFormat::Text => drop(writeln!(
                std::io::stderr(),
                "{}",
                cts_runtime::visible(&line.text)
            )),
        }
    }
}
