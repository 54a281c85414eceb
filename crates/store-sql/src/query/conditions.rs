//! Conditions about a run `r` and its task `t` that several statements share, including statements of the single
//! databases. Macros, so that a statement stays one constant text.
//!
//! An apply is not leased while its concurrency group is taken. The lease notes the group in the run, and the partial
//! unique index `runs_one_of_group` over running runs decides between simultaneous calls: one call gets the run, the
//! other call searches again.

/// Condition that a run of a different task has the concurrency group of the task, or that a remote run of that task
/// keeps the group. Two remote runs of a group do not wait for each other.
#[macro_export]
macro_rules! group_is_taken {
    () => {
        "EXISTS (
            SELECT 1 FROM taken_groups g
            WHERE g.name = t.concurrency_group AND g.task_name <> r.task_name
              AND (g.leased OR r.remote_group IS NULL))"
    };
}

/// Condition that the Terraform state of the task was refused, and no decision about it exists yet.
#[macro_export]
macro_rules! state_is_refused {
    () => {
        "(t.state_refused IS NOT NULL AND t.state_conflict IS NOT NULL
            AND t.state_keep IS NULL AND t.state_from IS NULL)"
    };
}

/// Condition that effects of the task may need consent.
///
/// By its own rule or the default in force, by that of its deleted declaration, or by that of the API. Postgres has a function with the same rule (`cts_has_rule`).
#[macro_export]
macro_rules! has_rule {
    () => {
        "(coalesce(
            CASE WHEN t.spec LIKE '%\"approval\":\"%' THEN t.spec ->> '$.approval' END,
            (SELECT f.approvals ->> '$.rule' FROM configuration_in_force f WHERE f.approvals_number = f.number),
            'never') <> 'never'
          OR coalesce(
            CASE WHEN t.spec LIKE '%\"api_approval\":\"%' THEN t.spec ->> '$.api_approval' END, 'never') <> 'never'
          OR EXISTS (SELECT 1 FROM deleted_tasks d WHERE d.name = t.name AND d.approval <> 'never'))"
    };
}

/// Condition that the run waits for a decision about the Terraform state of the task. Workers that name a previous
/// backend may lease the run nevertheless (`acquire`).
#[macro_export]
macro_rules! waits_for_decision {
    () => {
        concat!(
            "(",
            $crate::state_is_refused!(),
            "
            AND coalesce(r.destroys, r.kind) = 'apply'
            AND coalesce(t.state_refused_settings, r.settings) IS NOT DISTINCT FROM r.settings)"
        )
    };
}

/// Condition that a remote run may still change something, and that no run except `r` follows it.
///
/// The remote run is that of the run, or the newest of the task while the task runs on a server. Same rule as
/// `cts_core::RemoteRun::is_open`; the records are JSON as written by this program.
#[macro_export]
macro_rules! has_open_remote {
    () => {
        "coalesce(coalesce(r.destroys, r.kind) = 'apply'
            AND (r.remote_run LIKE '%\"ended\":false%' AND r.remote_run NOT LIKE '%\"abandoned\":true%'
              OR t.requires_driver = 'terraform-cloud'
                AND t.remote_run LIKE '%\"ended\":false%' AND t.remote_run NOT LIKE '%\"abandoned\":true%')
            AND NOT EXISTS (
              SELECT 1 FROM runs o
              WHERE o.task_name = r.task_name AND o.status = 'running' AND o.id <> r.id
                AND coalesce(o.destroys, o.kind) = 'apply'), FALSE)"
    };
}

pub(crate) const HAS_OPEN_REMOTE: &str = has_open_remote!();
pub(crate) const GROUP_IS_TAKEN: &str = group_is_taken!();
pub(crate) const WAITS_FOR_DECISION: &str = waits_for_decision!();
