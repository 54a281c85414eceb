//! Rows that move to another store.

use cts_core::{DeliveryAttempt, LeaseEpoch, TaskSpec};

use super::{delivery, event, occasion, state_of};
use crate::attempt;
use crate::error::StoreError;
use crate::fields::{Columns, Fields};
use crate::model::LogLine;
use crate::transfer::{
    BundleRow, ConfigurationRow, DeletedTaskRow, EventRow, LogLineRow, RunRow, TaskRow,
};

/// A task that moves to another store.
pub fn task_row(row: &dyn Columns) -> Result<TaskRow, StoreError> {
    let row = Fields::new(row, "read the tasks", "tasks").keyed("name")?;
    let spec: TaskSpec = row.json("spec")?;
    if spec.name().as_str() != row.key() {
        return Err(row.cell("spec").corrupt("it is of another task"));
    }
    Ok(TaskRow {
        position: row.integer("position")?,
        incarnation: row.number("incarnation")?,
        origin: row.origin("origin")?,
        revision: row.number("revision")?,
        configured: row.parse_if_any("configured")?,
        spec,
        last_applied: row.parse_if_any("last_applied")?,
        tried_input: row.parse_if_any("tried_input")?,
        cancelled_input: row.parse_if_any("cancelled_input")?,
        owes_run: occasion(&row)?,
        applied_instances: row.json_if_any("applied_instances")?,
        released_instances: row.json_if_any("released_instances")?,
        held: row.json_if_any("held")?,
        state: state_of(&row)?,
        state_refused: row.text_if_any("state_refused")?.map(str::to_owned),
        last_attempt: delivery_attempt(&row)?,
        remote_run: row.json_if_any("remote_run")?,
        last_check: row.json_if_any("last_check")?,
        failures: row.number("failures")?,
        skipped: row.number("skipped")?,
        created_at: row.integer("created_at")?,
        updated_at: row.integer("updated_at")?,
    })
}

fn delivery_attempt(row: &Fields<'_>) -> Result<Option<DeliveryAttempt>, StoreError> {
    let (delivery, run) = (
        delivery(row)?,
        row.id_under("delivery_run", "delivery_run")?,
    );
    let input = row.parse_if_any("delivery_input")?;
    let all = delivery.zip(run).zip(input);
    Ok(all.map(|((delivery, run), input)| DeliveryAttempt {
        delivery,
        run,
        input,
    }))
}

/// A deleted task that moves to another store.
pub fn deleted_task_row(row: &dyn Columns) -> Result<DeletedTaskRow, StoreError> {
    let row = Fields::new(row, "read the deleted tasks", "deleted_tasks").keyed("name")?;
    Ok(DeletedTaskRow {
        name: row.parse("name")?,
        configured: row.parse("configured")?,
        deleted_at: row.integer("deleted_at")?,
    })
}

/// The configuration in force, which moves to another store.
pub fn configuration_row(row: &dyn Columns) -> Result<ConfigurationRow, StoreError> {
    let row = Fields::new(row, "read the configuration", "configuration_in_force");
    Ok(ConfigurationRow {
        number: row.number("number")?,
        fingerprint: row.text("fingerprint")?.to_owned(),
        tasks: row.text("tasks")?.to_owned(),
        decided_by: row.text("decided_by")?.to_owned(),
        decided_at: row.integer("decided_at")?,
    })
}

/// A run that moves to another store.
pub fn run_row(columns: &dyn Columns) -> Result<RunRow, StoreError> {
    let row = Fields::new(columns, "read the runs", "runs").keyed_by_id("id")?;
    Ok(RunRow {
        id: row.id("id")?,
        task: row.parse("task_name")?,
        incarnation: row.number("incarnation")?,
        kind: row.kind_of_run()?,
        no_retry: row.flag("no_retry")?,
        requested: row.flag("requested")?,
        input: row.parse("input_hash")?,
        status: row.run_status("status")?,
        attempts: row.number("attempts")?,
        errors: row.json("errors")?,
        plan: row.plan()?,
        details: row.details()?,
        remote_run: row.json_if_any("remote_run")?,
        remote_group: row.text_if_any("remote_group")?.map(str::to_owned),
        epoch: LeaseEpoch::new(row.number("epoch")?),
        due_at: row.integer("due_at")?,
        started_at: row.integer_if_any("started_at")?,
        finished_at: row.integer_if_any("finished_at")?,
        created_at: row.integer("created_at")?,
        updated_at: row.integer("updated_at")?,
        requested_by: row.text_if_any("requested_by")?.map(str::to_owned),
        trace: row.json_if_any("trace")?,
        cause: row.json_if_any("cause")?,
        attempt_records: attempt::attempts(columns)?,
    })
}

/// An event that moves to another store.
pub fn event_row(columns: &dyn Columns) -> Result<EventRow, StoreError> {
    let row = Fields::new(columns, "read the events", "events").keyed_by_number("position")?;
    Ok(EventRow {
        position: row.integer("position")?,
        event: event(columns)?,
        incarnation: row.number("incarnation")?,
    })
}

/// A log line that moves to another store.
pub fn log_line_row(row: &dyn Columns) -> Result<LogLineRow, StoreError> {
    let row = Fields::new(row, "read the logs", "log_lines").keyed_by_id("run_id")?;
    Ok(LogLineRow {
        run: row.id("run_id")?,
        position: row.integer("position")?,
        line: LogLine {
            stream: row.log_stream("stream")?,
            text: row.text("line")?.to_owned(),
        },
    })
}

/// A bundle that moves to another store.
pub fn bundle_row(row: &dyn Columns) -> Result<BundleRow, StoreError> {
    let row = Fields::new(row, "read the bundles", "bundles").keyed("hash")?;
    Ok(BundleRow {
        hash: row.parse("hash")?,
        bytes: row.bytes("content")?,
        created_at: row.integer("created_at")?,
        used_at: row.integer("used_at")?,
    })
}
