//! Consent of people to the effects of plans.
//!
//! A row of `approvals` is an effect that needs consent. A run that waits has the effect in `runs.awaits`, and a trigger
//! keeps it from being due. Every change locks the task first.

use cts_core::{Consent, Permit, RunId, permit};
use cts_store::approval::Asking;
use cts_store::cell::encoded;
use cts_store::fields::Fields;
use cts_store::{
    Approval, AskedPermit, GivenConsent, LeaseError, PermitAnswer, ShownPlan, StoreError,
};

use crate::effects::{READ, rule_in_force, shown};
use crate::leases::{Held, lock_task_of, lost, of_lease, wait_of};
use crate::{Connection, plans, sql};

const PERMIT: &str = "decide about an apply";

/// The columns for [`Asking::read`]. A macro, so that a statement stays one constant text.
macro_rules! asking {
    ($task:literal, $lock:literal) => {
        concat!(
            "-- permit_apply; index runs_pkey
        SELECT r.id, r.task_name, r.incarnation, r.input_hash, r.braked,
               r.cancel_requested_at IS NOT NULL AS cancelled, t.spec,
               coalesce(r.destroys = 'apply' AND (t.phase <> 'deleting' OR t.destroy_run IS DISTINCT FROM r.id), FALSE)
                   AS given_up, {now} AS now,
               ",
            rule_in_force!(),
            ",
               CAST($4 AS TEXT) AS effect, a.decision, a.decided_by, a.decided_at, a.comment, a.expires_at, a.used_by,
               a.gone_at, a.asked_at, a.used_input
        FROM runs r ",
            $task,
            "
        LEFT JOIN approvals a
            ON a.task_name = r.task_name AND a.incarnation = r.incarnation AND a.effect = $4
        WHERE r.id = $1 AND r.epoch = $2 AND r.holder = $3 AND r.status IS NOT DISTINCT FROM 'running' ",
            $lock
        )
    };
}

/// Decides whether the worker of a lease may apply its plan, and stores the plan.
pub async fn permit_apply(
    c: &mut dyn Connection,
    held: Held<'_>,
    asked: AskedPermit<'_>,
) -> Result<PermitAnswer, LeaseError> {
    lock_task_of(c, held.0).await?;
    let wait = wait_of(c, held).await?.ok_or_else(|| lost(held))?;
    let asking = asking_of(c, held, asked).await?;
    let asking = asking.ok_or_else(|| lost(held))?;
    plans::record(c, held, asked.content).await?;
    let consent = asking.consent();
    let decided = permit(asking.context(asked, &consent, wait.context));
    // A newer input is planned after a while; meanwhile a person may decide.
    let gives_way = asking.may_be_decided(&consent, wait.context);
    match decided {
        Permit::Permitted { uses_consent } => {
            // A consent is used up by the apply of its effect, also if that needs none any more.
            let uses = uses_consent || consent.consent == Consent::Approved;
            begins(c, &asking, asking.effect().filter(|_| uses)).await?;
        }
        Permit::Waits => wait_for(c, &asking, asked, consent.is_known).await?,
        Permit::Rejected => note_plan(c, &asking, asked).await?,
        Permit::Unwanted if gives_way => {
            note_effect(c, &asking, asked, consent.is_known).await?;
        }
        Permit::Unwanted | Permit::Unknown => return Ok(consent.answer(decided, false)),
    }
    others_are_gone(c, &asking).await?;
    let asks = matches!(decided, Permit::Waits | Permit::Unwanted);
    Ok(consent.answer(decided, asks))
}

/// Reads the rule, the consents and the wishes that the decision depends on. The effect is that of an approved
/// destruction of which the plan is a part, or the plan's own.
async fn asking_of(
    c: &mut dyn Connection,
    held: Held<'_>,
    asked: AskedPermit<'_>,
) -> Result<Option<Asking>, StoreError> {
    if asked.part_of.is_some() {
        let whole = asking(c, held, asked.part_of).await?;
        let is_approved = |it: &Asking| it.consent().consent == Consent::Approved;
        if whole.as_ref().is_none_or(is_approved) {
            return Ok(whole);
        }
    }
    asking(c, held, asked.facts.effect.as_deref()).await
}

/// Reads what the decision needs to know of the run, its task, and an effect.
async fn asking(
    c: &mut dyn Connection,
    held: Held<'_>,
    effect: Option<&str>,
) -> Result<Option<Asking>, StoreError> {
    // Only the task of this run: with outdated statistics, Postgres could prefer to read all tasks in order.
    let text = c.dialect().pick(
        asking!("JOIN tasks t ON t.name = r.task_name", ""),
        asking!(
            "CROSS JOIN LATERAL (SELECT * FROM tasks WHERE name = r.task_name LIMIT 1) t",
            "FOR NO KEY UPDATE OF r"
        ),
    );
    let asking = of_lease(PERMIT, text, held).bind(effect);
    asking.optional(c, Asking::read).await
}

/// Notes that Terraform may change anything from now on, and that the apply uses the consent to this effect up.
async fn begins(
    c: &mut dyn Connection,
    asking: &Asking,
    consent: Option<&str>,
) -> Result<(), StoreError> {
    for statement in [
        "-- permit_apply: nothing counts as applied any more, and no run is owed
        UPDATE tasks SET last_applied = NULL, owes_run = NULL WHERE name = $1",
        "-- permit_apply: the run waits no longer; index runs_awaits
        UPDATE runs SET awaits = NULL
        WHERE task_name = $1 AND awaits IS NOT NULL AND status IN ('queued', 'running')",
    ] {
        let noted = sql(PERMIT, statement).bind(asking.task.as_str());
        noted.execute(c).await?;
    }
    let Some(effect) = consent else {
        return Ok(());
    };
    let used = sql(
        PERMIT,
        "-- permit_apply: the consent is used up
        UPDATE approvals SET used_by = $4, used_input = $5, run_id = $4, gone_at = NULL, planned_at = $6
        WHERE task_name = $1 AND incarnation = $2 AND effect = $3",
    );
    let used = used
        .bind(asking.task.as_str())
        .bind(asking.incarnation)
        .bind(effect);
    let used = used.bind(asking.run).bind(asking.input.as_str());
    used.bind(asking.now).execute(c).await?;
    Ok(())
}

/// Notes that the run waits for a decision about its effect.
async fn wait_for(
    c: &mut dyn Connection,
    asking: &Asking,
    asked: AskedPermit<'_>,
    is_known: bool,
) -> Result<(), StoreError> {
    note_effect(c, asking, asked, is_known).await?;
    let waits = sql(
        PERMIT,
        "-- permit_apply: its effect\nUPDATE runs SET awaits = $2 WHERE id = $1",
    );
    let waits = waits.bind(asking.run).bind(asking.effect());
    waits.execute(c).await?;
    let created = sql(
        PERMIT,
        "-- permit_apply: a creation that waits has its task
        UPDATE tasks SET phase = 'ready', creation = NULL, creation_run = NULL, updated_at = $3
        WHERE name = $1 AND phase = 'creating' AND creation_run = $2",
    );
    let created = created.bind(asking.task.as_str()).bind(asking.run);
    created.bind(asking.now).execute(c).await?;
    Ok(())
}

/// Notes the newest plan of a rejected effect.
async fn note_plan(
    c: &mut dyn Connection,
    asking: &Asking,
    asked: AskedPermit<'_>,
) -> Result<(), StoreError> {
    let noted = sql(
        PERMIT,
        "-- permit_apply: the newest plan of the effect
        UPDATE approvals SET run_id = $4, input_hash = $5, plan = $6, planned_at = $7
        WHERE task_name = $1 AND incarnation = $2 AND effect = $3",
    );
    let noted = noted.bind(asking.task.as_str()).bind(asking.incarnation);
    let noted = noted.bind(asking.effect()).bind(asking.run);
    let noted = noted.bind(asking.input.as_str()).bind(asked.content);
    noted.bind(asking.now).execute(c).await?;
    Ok(())
}

/// Notes an effect that a person is to decide about.
async fn note_effect(
    c: &mut dyn Connection,
    asking: &Asking,
    asked: AskedPermit<'_>,
    is_known: bool,
) -> Result<(), StoreError> {
    let noted = sql(
        PERMIT,
        "-- permit_apply: the run waits
        INSERT INTO approvals (task_name, incarnation, effect, run_id, input_hash, summary, plan, asked_at, planned_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
        ON CONFLICT (task_name, incarnation, effect) DO UPDATE
        SET run_id = excluded.run_id, input_hash = excluded.input_hash, summary = excluded.summary,
            plan = excluded.plan, planned_at = excluded.planned_at, gone_at = NULL,
            asked_at = CASE WHEN $9 THEN approvals.asked_at ELSE excluded.asked_at END,
            decision = NULL, decided_by = NULL, decided_at = NULL, comment = NULL, expires_at = NULL,
            used_by = NULL, used_input = NULL",
    );
    let noted = noted
        .bind(asking.task.as_str())
        .bind(asking.incarnation)
        .bind(asking.effect())
        .bind(asking.run)
        .bind(asking.input.as_str())
        .bind(encoded(PERMIT, asked.summary)?)
        .bind(asked.content)
        .bind(asking.now)
        .bind(is_known);
    noted.execute(c).await?;
    Ok(())
}

/// Notes that the data of the task need no other effect now, but for that of newer data.
async fn others_are_gone(c: &mut dyn Connection, asking: &Asking) -> Result<(), StoreError> {
    let gone = sql(
        PERMIT,
        "-- permit_apply: the other effects of the task; index runs_one_queued
        UPDATE approvals
        SET gone_at = CASE WHEN effect = $3 THEN NULL ELSE coalesce(gone_at, $4) END
        WHERE task_name = $1 AND incarnation = $2 AND used_by IS NULL AND (effect = $3 OR NOT EXISTS (
            SELECT 1 FROM runs r
            WHERE r.task_name = approvals.task_name AND r.input_hash = approvals.input_hash
              AND r.status = 'queued' AND r.kind = 'apply'))",
    );
    let gone = gone.bind(asking.task.as_str()).bind(asking.incarnation);
    let gone = gone.bind(asking.effect().unwrap_or_default());
    gone.bind(asking.now).execute(c).await?;
    Ok(())
}

/// The consent that a run has used, or that a destruction has, with the approved plan.
pub async fn given(c: &mut dyn Connection, run: RunId) -> Result<Option<GivenConsent>, StoreError> {
    let given = sql(
        READ,
        "-- given_consent; indexes runs_pkey, approvals_run
        SELECT a.effect, a.plan, coalesce(r.destroys = 'apply', FALSE) AS destroys
        FROM runs r JOIN approvals a ON a.run_id = r.id
        WHERE r.id = $1 AND a.expires_at > {now}
          AND (a.used_by = r.id AND a.used_input = r.input_hash
            OR a.used_by IS NULL AND a.decision = 'approved' AND r.destroys = 'apply')
        ORDER BY a.planned_at DESC, a.effect LIMIT 1",
    );
    let given = given.bind(run).optional(c, |row| {
        let row = Fields::new(row, READ, "approvals");
        Ok(GivenConsent {
            effect: row.text("effect")?.to_owned(),
            plan: row.bytes("plan")?,
            destroys: row.flag("destroys")?,
        })
    });
    given.await
}

/// The newest plan of the task of a run that people were shown.
pub async fn shown_plan(
    c: &mut dyn Connection,
    run: RunId,
) -> Result<Option<ShownPlan>, StoreError> {
    let shown = sql(
        READ,
        "-- shown_plan; indexes runs_pkey, approvals_pkey
        SELECT a.task_name, a.effect, a.plan, a.summary, a.input_hash = r.input_hash AS same_input
        FROM runs r
        JOIN approvals a ON a.task_name = r.task_name AND a.incarnation = r.incarnation
        WHERE r.id = $1 AND (a.used_by IS NULL OR a.used_by = r.id)
        ORDER BY a.planned_at DESC, a.effect LIMIT 1",
    );
    shown.bind(run).optional(c, ShownPlan::read).await
}

/// The effects that wait, are approved and not applied yet, or are rejected.
pub async fn all(c: &mut dyn Connection) -> Result<Vec<Approval>, StoreError> {
    let all = sql(
        READ,
        concat!(
            "-- approvals\nSELECT ",
            shown!(),
            "
        FROM approvals a JOIN tasks t ON t.name = a.task_name AND t.incarnation = a.incarnation
        WHERE a.used_by IS NULL AND t.phase IN ('ready', 'creating', 'deleting')
        ORDER BY a.task_name, a.asked_at, a.effect"
        ),
    );
    all.all(c, Approval::read).await
}

/// The newest effect of a run.
pub async fn of_run(
    c: &mut dyn Connection,
    run: RunId,
    effect: Option<&str>,
) -> Result<Option<Approval>, StoreError> {
    let of_run = sql(
        READ,
        concat!(
            "-- approval_of; indexes runs_pkey, approvals_pkey\nSELECT ",
            shown!(),
            "
        FROM runs r
        JOIN approvals a ON a.task_name = r.task_name AND a.incarnation = r.incarnation
        WHERE r.id = $1
          AND (a.effect = $2 OR CAST($2 AS TEXT) IS NULL AND (a.run_id = r.id OR a.effect = r.awaits))
        ORDER BY a.planned_at DESC, a.effect LIMIT 1"
        ),
    );
    of_run
        .bind(run)
        .bind(effect)
        .optional(c, Approval::read)
        .await
}
