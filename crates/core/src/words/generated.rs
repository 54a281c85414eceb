//! Header of generated files.

/// First line of every file that cts writes into the directory of a task (docs/terraform.md#the-header).
pub const GENERATED_NOTICE: &str =
    "# Written by cts from the operator's configuration: change that, not this file.";
