//! The tables of both databases: this description defines how rows move (`cts migrate`) and are archived. A test of
//! `cts-store-postgres` compares it with both schemas.

/// Kind of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// A whole number, or a time in microseconds since 1970.
    Integer,
    /// A truth value; a number in SQLite.
    Flag,
    Bytes,
    /// An id: `UUID` in Postgres, a text in SQLite.
    Id,
    /// The number of a row of `inputs`. It moves as the hash of that row, which gets a different number.
    Input,
    /// The number of a row of `contents`; moves like that of an input.
    Content,
    /// The column does not move: [`STAYING`] states the reason.
    Stays,
}

/// A table whose rows move, are archived, or both.
#[derive(Debug)]
pub struct Table {
    pub name: &'static str,
    /// All columns of SQLite with their kinds, in the order of archives.
    pub columns: &'static [(&'static str, Kind)],
    /// Order of the rows.
    pub order: &'static str,
    /// Condition of the rows that move.
    pub moving: &'static str,
}

impl Kind {
    /// The table that the number refers to.
    pub const fn refers_to(self) -> Option<&'static str> {
        match self {
            Self::Input => Some("inputs"),
            Self::Content => Some("contents"),
            _ => None,
        }
    }
}

impl Table {
    pub fn moving_columns(&self) -> impl Iterator<Item = (&'static str, Kind)> + Clone {
        let columns = self.columns.iter().copied();
        columns.filter(|(_name, kind)| *kind != Kind::Stays)
    }

    /// Whether the rows only connect rows of other tables. Such a table is not counted.
    pub fn is_link(&self) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|(_name, kind)| kind.refers_to().is_some())
    }

    /// Whether the key of a row determines its content, so that an existing row with the same key is equal.
    pub fn is_by_content(&self) -> bool {
        self.is_link() || self.columns.iter().any(|(name, _kind)| *name == "hash")
    }
}

/// Columns with their kinds.
macro_rules! columns {
    ($($name:ident $kind:ident),+ $(,)?) => {
        &[$((stringify!($name), Kind::$kind)),+]
    };
}

pub static TASKS: Table = Table {
    name: "tasks",
    columns: columns![
        name Text, incarnation Integer, position Integer, origin Text, phase Stays, revision Integer,
        configured Text, destroy_run Stays, destruction_suspended_at Stays, spec Text, last_applied Text,
        tried_input Text, cancelled_input Text, owes_run Text, applied_instances Text, released_instances Text,
        held Text, state_lineage Text, state_serial Integer, state_moves Integer, state_moved_serial Integer,
        state_keep Text, state_from Text, state_conflict Text, state_conflict_at Integer,
        state_recorded_at Integer, state_refused Text, remote_run Text, last_check Text, failures Integer,
        skipped Integer, created_at Integer, updated_at Integer, enabled Flag, skip_unchanged Flag,
        retry_failed Flag, requires_driver Text, requires_version Text, requires_bundle Flag,
        concurrency_group Text, event_config Text, delivery Integer, delivery_first_run Id, delivery_run Id,
        delivery_input Text, approval Text, api_approval Text, creation Stays, creation_run Stays, explanation Stays,
        state_recorded_by Stays, state_refused_settings Stays, destroy_requested_by Stays,
    ],
    order: "position, name",
    moving: "phase = 'ready'",
};

/// Configured tasks that the API deleted.
pub static DELETED_TASKS: Table = Table {
    name: "deleted_tasks",
    columns: columns![name Text, configured Text, deleted_at Integer, approval Text],
    order: "name",
    moving: "TRUE",
};

/// The configuration in force, if any.
pub static CONFIGURATION_IN_FORCE: Table = Table {
    name: "configuration_in_force",
    columns: columns![
        singleton Stays, number Integer, fingerprint Text, tasks Text, decided_by Text, decided_at Integer,
        fleet_max_shrink Text, approvals Text, approvals_number Integer,
    ],
    order: "number",
    moving: "TRUE",
};

/// The numbers of the brake of the fleet, if any.
pub static FLEET_BRAKE: Table = Table {
    name: "fleet_brake",
    columns: columns![singleton Stays, releases Integer, noted Text],
    order: "releases",
    moving: "TRUE",
};

/// Contents of frozen inputs.
pub static CONTENTS: Table = Table {
    name: "contents",
    columns: columns![id Stays, hash Text, encoding Text, content Bytes, created_at Integer],
    order: "hash",
    moving: "TRUE",
};

/// Frozen inputs.
pub static INPUTS: Table = Table {
    name: "inputs",
    columns: columns![
        id Stays, hash Text, created_at Integer, instances Text,
    ],
    order: "hash",
    moving: "TRUE",
};

/// The contents of each input, in their order.
pub static INPUT_CONTENTS: Table = Table {
    name: "input_contents",
    columns: columns![input_id Input, content_id Content, position Integer],
    order: "input_id, position",
    moving: "TRUE",
};

/// Runs. Columns of a running run move because the rules of a move need them; the rules empty these columns.
pub static RUNS: Table = Table {
    name: "runs",
    columns: columns![
        id Id, task_name Text, incarnation Integer, kind Text, destroys Text, no_retry Flag, requested Flag,
        status Text, input_hash Text, attempts Integer, errors Text, epoch Integer, due_at Integer,
        started_at Integer, finished_at Integer, created_at Integer, updated_at Integer, changes_present Flag,
        plan_encoding Text, plan Bytes, summary Text, findings Text, remote_run Text, requested_by Text,
        leased_epoch Integer, leased_at Integer, leased_by Text, ended_attempts Text, cause Text,
        remote_group Text, trace Text, holder Text, expires_at Integer, withdrawn Flag,
        cancel_requested_at Integer, claim Stays, concurrency_group Stays, settings Stays, waiting_for Stays,
        resumed_waits Stays, cancel_force Stays, cancel_noted_at Stays, run_phase Stays, run_phase_since Stays,
        elsewhere_until Stays, braked Flag, awaits Text, permission_epoch Stays,
    ],
    order: "id",
    moving: "TRUE",
};

/// Events, in the order of their occurrence.
pub static EVENTS: Table = Table {
    name: "events",
    columns: columns![
        position Integer, id Id, task_name Text, incarnation Integer, run_id Id, success Flag,
        start_time Integer, end_time Integer, error Text, config Text, summary Text, requested_by Text,
        cause Text,
    ],
    order: "position",
    moving: "TRUE",
};

/// Events of ticks without changes.
pub static TICK_EVENTS: Table = Table {
    name: "tick_events",
    columns: columns![
        task_name Text, place Integer, number Integer, id Id, start_time Integer, end_time Integer, config Text,
        after Integer,
    ],
    order: "task_name, number",
    moving: "task_name IN (SELECT name FROM tasks WHERE phase = 'ready')",
};

/// Lines of the runs' logs.
pub static LOG_LINES: Table = Table {
    name: "log_lines",
    columns: columns![run_id Id, position Integer, stream Text, line Text],
    order: "run_id, position",
    moving: "TRUE",
};

/// Plans of runs as data, which move as logs do.
pub static PLANS: Table = Table {
    name: "plans",
    columns: columns![run_id Id, task_name Text, recorded_at Integer, bytes Integer, content Bytes],
    order: "run_id",
    moving: "TRUE",
};

/// Causes of runs.
pub static CAUSES: Table = Table {
    name: "causes",
    columns: columns![id Id, begun_at Integer, lines Text],
    order: "id",
    moving: "TRUE",
};

/// The runs that each cause led to.
pub static CAUSE_RUNS: Table = Table {
    name: "cause_runs",
    columns: columns![run_id Id, cause_id Id],
    order: "run_id, cause_id",
    moving: "TRUE",
};

/// Effects that need consent.
pub static APPROVALS: Table = Table {
    name: "approvals",
    columns: columns![
        task_name Text, incarnation Integer, effect Text, run_id Id, input_hash Text, summary Text, plan Bytes,
        asked_at Integer, planned_at Integer, gone_at Integer, decision Text, decided_by Text, decided_at Integer,
        comment Text, expires_at Integer, used_by Id, used_input Text,
    ],
    order: "task_name, incarnation, effect",
    moving: "task_name IN (SELECT name FROM tasks WHERE phase = 'ready')",
};

/// The key for the fingerprints of plans, if any.
pub static PLAN_KEY: Table = Table {
    name: "plan_key",
    columns: columns![singleton Stays, key Bytes, created_at Integer],
    order: "created_at",
    moving: "TRUE",
};

/// Module bundles.
pub static BUNDLES: Table = Table {
    name: "bundles",
    columns: columns![hash Text, content Bytes, created_at Integer, used_at Integer],
    order: "hash",
    moving: "TRUE",
};

/// Tokens of the API.
pub static ACCESS_TOKENS: Table = Table {
    name: "access_tokens",
    columns: columns![
        name Text, sha256 Bytes, role Text, tasks Text, created_at Integer, created_by Text, expires_at Integer,
        approves Flag,
    ],
    order: "name",
    moving: "TRUE",
};

pub static AUDIT_RECORDS: Table = Table {
    name: "audit_records",
    columns: columns![
        number Integer, recorded_at Integer, caller_kind Text, caller Text, issuer Text, address Text,
        action Text, target Text, arguments Text, outcome Text, reason Text, request_id Text, calls Integer,
    ],
    order: "number",
    moving: "TRUE",
};

/// All tables, in the order in which they move: rows refer to rows of earlier tables.
pub static TABLES: [&Table; 19] = [
    &TASKS,
    &DELETED_TASKS,
    &CONFIGURATION_IN_FORCE,
    &FLEET_BRAKE,
    &CONTENTS,
    &INPUTS,
    &INPUT_CONTENTS,
    &RUNS,
    &EVENTS,
    &TICK_EVENTS,
    &LOG_LINES,
    &PLANS,
    &CAUSES,
    &CAUSE_RUNS,
    &APPROVALS,
    &PLAN_KEY,
    &BUNDLES,
    &ACCESS_TOKENS,
    &AUDIT_RECORDS,
];

/// Names of columns of a table, or of whole tables; each list has a reason.
macro_rules! staying {
    ($($of:ident: $($name:ident),+ => $reason:literal;)+) => {
        &[$((stringify!($of), &[$(stringify!($name)),+] as &[&str], $reason)),+]
    };
}

/// Columns of these tables, and other `tables`, that do not move, with the reason.
pub const STAYING: &[(&str, &[&str], &str)] = staying![
    tasks: phase, creation, creation_run => "only ready tasks move: the callers that wait for drafts are gone";
    tasks: destroy_run, destruction_suspended_at, destroy_requested_by => "a task that is deleted does not move";
    tasks: explanation => "the next leader notes why a task runs or does not";
    tasks: state_recorded_by => "the worker that could repeat its record is gone";
    tasks: state_refused_settings => "the generations of settings do not move";
    tasks: active_run => "only Postgres has this column, and nothing runs after a move";
    configuration_in_force: singleton => "every database has the same value";
    fleet_brake: singleton => "every database has the same value";
    plan_key: singleton => "every database has the same value";
    contents: id => "each database numbers its rows";
    inputs: id => "each database numbers its rows";
    runs: claim, concurrency_group, waiting_for, resumed_waits, cancel_force, cancel_noted_at, run_phase,
        run_phase_since, elsewhere_until, permission_epoch => "they belong to a lease, and every lease ends with a move";
    runs: settings => "the generations of settings do not move";
    tables: leadership, members, member_configurations, workers, worker_settings, settings, lost_leases
        => "the processes do not move: nothing leads, works or reports settings after a move";
    tables: run_requests, hastened_tasks => "the callers and the starts are gone";
    tables: cluster_key, lease_key => "without settings and leases a database makes keys of its own";
    tables: archives, archived_rows => "a reset has removed these rows";
    tables: schema_compatibility, continuity, doubted_tasks, doubted_runs, doubted_workers
        => "they describe one database";
    tables: task_versions, task_changes, audit_head => "they follow from other tables";
    tables: housekeeping, log_sizes => "the next leader measures again";
    tables: sessions, session_head => "a login is for the gateways of one place, and is soon made again";
    tables: change_times => "they measure the processes and the database before the move";
];
