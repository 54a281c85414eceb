//! Records of Terraform states.

use chrono::{DateTime, Utc};
use cts_core::state::{Keep, KnownState, StateConflict, StateRecord};
use cts_core::{TaskName, TaskSpec};
use serde::Deserialize;

use crate::error::StoreError;
use crate::fields::{Columns, Fields};
use crate::store::restored::AppliedState;

/// Reads a task's record of its state, as JSON in one column.
pub(super) fn leased_state(row: &Fields<'_>) -> Result<StateRecord, StoreError> {
    /// The members of that JSON.
    #[derive(Deserialize)]
    struct Leased {
        lineage: Option<String>,
        serial: Option<u64>,
        moves: u32,
        moved: Option<u64>,
        keep: Option<Keep>,
        from: Option<TaskName>,
    }
    let Some(leased) = row.json_if_any::<Leased>("known_state")? else {
        return Ok(StateRecord::default());
    };
    Ok(StateRecord {
        known: known_state(leased.lineage, leased.serial, leased.moved),
        moves: leased.moves,
        keep: leased.keep,
        from: leased.from,
        conflict: None,
        recorded_at: None,
    })
}

fn known_state(
    lineage: Option<String>,
    serial: Option<u64>,
    moved: Option<u64>,
) -> Option<KnownState> {
    Some(KnownState {
        lineage: lineage?,
        serial: serial.unwrap_or_default(),
        moved,
    })
}

/// Reads the record of the Terraform state from a row of `tasks`.
pub fn state_record(row: &dyn Columns) -> Result<StateRecord, StoreError> {
    state_of(&Fields::new(row, "read what is known of a state", "tasks").keyed("name")?)
}

/// The state of a task with a last applied input, from a row of `tasks`; `None` if no state is known.
pub fn applied_state(row: &dyn Columns) -> Result<Option<AppliedState>, StoreError> {
    let row = Fields::new(row, "read what is known of a state", "tasks").keyed("name")?;
    let spec: TaskSpec = row.json("spec")?;
    let known = state_of(&row)?.known;
    Ok(known.map(|known| AppliedState {
        working_dir: spec.definition.working_dir.clone(),
        task: spec.definition.name,
        known,
    }))
}

/// The undecided conflict of a task's state and the time at which it was found, from a row of `tasks`.
pub fn undecided_conflict(
    row: &dyn Columns,
) -> Result<Option<(StateConflict, DateTime<Utc>)>, StoreError> {
    let row = Fields::new(row, "read the state of a task", "tasks").keyed("name")?;
    if row.text_if_any("state_keep")?.is_some() {
        return Ok(None);
    }
    conflict(&row)
}

fn conflict(row: &Fields<'_>) -> Result<Option<(StateConflict, DateTime<Utc>)>, StoreError> {
    let conflict = row.json_if_any("state_conflict")?;
    Ok(conflict.zip(row.time_if_any("state_conflict_at")?))
}

/// The number of moves of a task's state, from a row of `tasks`.
pub fn state_moves(row: &dyn Columns) -> Result<u32, StoreError> {
    let row = Fields::new(row, "record a state", "tasks").keyed("name")?;
    row.number("state_moves")
}

pub(super) fn state_of(row: &Fields<'_>) -> Result<StateRecord, StoreError> {
    let serial = |column| {
        let serial = row.integer_if_any(column)?;
        serial
            .map(|serial| row.cell(column).number(serial))
            .transpose()
    };
    let lineage = row.text_if_any("state_lineage")?.map(str::to_owned);
    Ok(StateRecord {
        known: known_state(
            lineage,
            serial("state_serial")?,
            serial("state_moved_serial")?,
        ),
        moves: row.number("state_moves")?,
        keep: row.text_if_any("state_keep")?.and_then(Keep::parse),
        from: row.parse_if_any("state_from")?,
        conflict: conflict(row)?,
        recorded_at: row.time_if_any("state_recorded_at")?,
    })
}
