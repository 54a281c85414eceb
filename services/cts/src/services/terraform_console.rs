//! `driver.terraform.log`: Terraform's output on our standard error.

use std::io::Write as _;

use cts_terraform::{OutputLine, OutputSink};

/// Writes lines without a prefix; characters that could steer a terminal are escaped as in other lines of the log
/// (docs/terraform.md#output-and-errors).
#[derive(Debug)]
pub(crate) struct StandardError;

impl OutputSink for StandardError {
    fn line(&self, line: OutputLine) {
        // There may be no reader any more, which is no reason to stop Terraform.
        drop(writeln!(
            std::io::stderr(),
            "{}",
            cts_runtime::visible(&line.text)
        ));
    }
}
