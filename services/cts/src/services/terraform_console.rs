//! `driver.terraform.log`: Terraform's output on our standard error.

use std::io::Write as _;

use cts_terraform::{OutputLine, OutputSink};

/// Writes lines without a prefix; characters that could steer a terminal are escaped as in other lines of the log
/// (docs/terraform.md#output-and-errors).
#[derive(Debug)]
pub(crate) struct StandardError;

impl OutputSink for StandardError {
    fn line(&self, line: OutputLine) {
        // The reader may be gone, which does not stop Terraform.
        drop(writeln!(
            std::io::stderr(),
            "{}",
            cts_runtime::visible(&line.text)
        ));
    }
}
