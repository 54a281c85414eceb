//! Task marks that the last poll of the store has found.

use std::collections::HashMap;

use cts_core::TaskName;
use cts_store::TaskVersion;

/// Task marks that the last poll has found.
#[derive(Debug, Default)]
pub(super) struct Seen(pub(super) HashMap<TaskName, TaskVersion>);
