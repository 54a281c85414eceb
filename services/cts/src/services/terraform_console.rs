//! `driver.terraform.log`: Terraform's output on our standard error.

use std::io::Write as _;

use cts_terraform::{OutputLine, OutputSink};

/// Writes lines as they are, without a prefix (docs/terraform.md#output-and-errors).
#[derive(Debug)]
pub(crate) struct StandardError;

impl OutputSink for StandardError {
    fn line(&self, line: OutputLine) {
        // There may be no reader any more, which is no reason to stop Terraform.
        drop(writeln!(std::io::stderr(), "{}", line.text));
    }
}
