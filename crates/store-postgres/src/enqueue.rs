//! Frozen inputs become queued runs, many at a time.

mod changes;

use std::collections::{BTreeSet, HashMap};

use cts_core::runs::{
    Asked, EnqueueDecision, QueuedApply, RunStatus, TaskRuns, WantedApply, decide_enqueue,
    forgets_attempts, may_enqueue,
};
use cts_core::{Digest, LeaderEpoch, RunId, TaskPhase};
use cts_store::{
    EncodedContents, EnqueueRequest, Enqueued, InputContents, LeaderError, StoreError, Unchanged,
};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, PgTransaction, Row as _};
use uuid::Uuid;

use self::changes::Changes;
use crate::inputs::{self, InputError};
use crate::leadership;
use crate::prune::INPUTS_LOCK;
use crate::row::{Cell, failed_to};

/// What the rules need to know of a task.
struct Situation {
    runs: TaskRuns,
    queued: Option<RunId>,
    /// When the queued run is or was due.
    queued_due: Option<i64>,
    tried: Option<Digest>,
    skip_unchanged: bool,
    phase: TaskPhase,
    enabled: bool,
    asked: Asked,
    /// What has become of the request's run, if it exists already.
    earlier: Option<RunStatus>,
}

pub(crate) async fn enqueue(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    requests: &[EnqueueRequest],
) -> Result<Vec<Enqueued>, LeaderError> {
    let contents = InputContents::of(requests);
    let mut known = inputs::known(connection, &contents.worth_asking()).await?;
    loop {
        let encoded = contents.encoded(&known).await?;
        match enqueue_encoded(connection, leader, requests, &encoded).await {
            Err(EnqueueError::Forgotten) => known.clear(),
            Err(EnqueueError::Leader(error)) => return Err(error),
            Ok(enqueued) => return Ok(enqueued),
        }
    }
}

/// Why nothing was queued.
enum EnqueueError {
    /// A content that was known is not there any more.
    Forgotten,
    Leader(LeaderError),
}

impl From<InputError> for EnqueueError {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Forgotten => Self::Forgotten,
            InputError::Store(error) => Self::Leader(error.into()),
        }
    }
}

impl From<LeaderError> for EnqueueError {
    fn from(error: LeaderError) -> Self {
        Self::Leader(error)
    }
}

impl From<StoreError> for EnqueueError {
    fn from(error: StoreError) -> Self {
        Self::Leader(error.into())
    }
}

/// One transaction.
async fn enqueue_encoded(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    requests: &[EnqueueRequest],
    encoded: &EncodedContents,
) -> Result<Vec<Enqueued>, EnqueueError> {
    let failed = failed_to("queue runs");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let now = leadership::fence(&mut transaction, leader).await?;
    lock(&mut transaction, requests).await?;
    let mut answers: Vec<Option<Enqueued>> = requests.iter().map(|_| None).collect();
    for wave in waves(requests) {
        let situations = situations(&mut transaction, requests, &wave).await?;
        let mut changes = Changes::default();
        for place in wave {
            let request = &requests[place];
            let situation = situations.get(request.task.as_str());
            answers[place] = Some(decide(request, situation, &mut changes));
        }
        changes.write(&mut transaction, encoded, now).await?;
    }
    transaction.commit().await.map_err(&failed)?;
    Ok(answers.into_iter().flatten().collect())
}

/// Requests of which each is decided when all earlier ones of its task are stored: places of requests,
/// no task twice in one wave.
fn waves(requests: &[EnqueueRequest]) -> Vec<Vec<usize>> {
    let mut waves: Vec<Vec<usize>> = Vec::new();
    let mut earlier: HashMap<&str, usize> = HashMap::new();
    for (place, request) in requests.iter().enumerate() {
        let number = earlier.entry(request.task.as_str()).or_default();
        match waves.get_mut(*number) {
            Some(wave) => wave.push(place),
            None => waves.push(vec![place]),
        }
        *number += 1;
    }
    waves
}

async fn lock(
    transaction: &mut PgTransaction<'_>,
    requests: &[EnqueueRequest],
) -> Result<(), StoreError> {
    let failed = failed_to("queue runs");
    sqlx::query(
        "-- enqueue: inputs that are referred to stay
        SELECT pg_advisory_xact_lock_shared($1)",
    )
    .bind(INPUTS_LOCK)
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    let names: BTreeSet<&str> = requests.iter().map(|r| r.task.as_str()).collect();
    sqlx::query(
        "-- enqueue: the tasks, in order
        SELECT FROM tasks WHERE name = ANY ($1) ORDER BY name FOR NO KEY UPDATE",
    )
    .bind(names.into_iter().collect::<Vec<_>>())
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    Ok(())
}

/// The situations of the tasks of a wave, by name. Their tasks are locked, so that
/// they stay.
async fn situations(
    transaction: &mut PgTransaction<'_>,
    requests: &[EnqueueRequest],
    wave: &[usize],
) -> Result<HashMap<String, Situation>, StoreError> {
    let names: Vec<&str> = wave.iter().map(|&at| requests[at].task.as_str()).collect();
    let runs: Vec<Uuid> = wave.iter().map(|&at| requests[at].run.as_uuid()).collect();
    let rows = sqlx::query(
        "-- enqueue: what is known; indexes runs_one_queued, runs_one_running
        SELECT t.name, t.skip_unchanged, t.last_applied, t.tried_input, q.id AS queued_id,
               q.input_hash AS queued_input, q.no_retry AS queued_no_retry, q.due_at AS queued_due,
               r.input_hash AS running_input, t.phase, t.enabled,
               e.status AS earlier, e.requested AS earlier_requested,
               (SELECT a.refused IS NULL FROM run_requests a
                WHERE a.run_id = n.run AND a.task_name = n.task) AS request_open
        FROM unnest($1::TEXT[], $2::UUID[]) AS n (task, run)
        JOIN tasks t ON t.name = n.task
        LEFT JOIN runs e ON e.id = n.run
        -- Of each task for itself: what the statistics say of a queue is always out of date.
        LEFT JOIN LATERAL (SELECT * FROM runs WHERE task_name = t.name AND status = 'queued'
                           AND kind = 'apply' LIMIT 1) q ON TRUE
        LEFT JOIN LATERAL (SELECT * FROM runs WHERE task_name = t.name AND status = 'running'
                           AND kind = 'apply' LIMIT 1) r ON TRUE",
    )
    .bind(names)
    .bind(runs)
    .fetch_all(&mut **transaction)
    .await
    .map_err(failed_to("read the runs of tasks"))?;
    rows.iter().map(situation).collect()
}

fn situation(row: &PgRow) -> Result<(String, Situation), StoreError> {
    let read = failed_to("read the runs of tasks");
    let name: &str = row.try_get("name").map_err(&read)?;
    let cell = |table, column| Cell {
        table,
        column,
        row: name,
    };
    let digest = |alias: &str, cell: Cell<'_>| -> Result<Option<Digest>, StoreError> {
        let text: Option<&str> = row.try_get(alias).map_err(&read)?;
        text.map(|text| cell.parse(text)).transpose()
    };
    let queued: Option<Uuid> = row.try_get("queued_id").map_err(&read)?;
    let input = digest("queued_input", cell("runs", "input_hash"))?;
    let no_retry: Option<bool> = row.try_get("queued_no_retry").map_err(&read)?;
    let earlier: Option<&str> = row.try_get("earlier").map_err(&read)?;
    let earlier = earlier.map(|status| cell("runs", "status").run_status(status));
    let situation = Situation {
        runs: TaskRuns {
            queued: input
                .zip(no_retry)
                .map(|(input, no_retry)| QueuedApply { input, no_retry }),
            running: digest("running_input", cell("runs", "input_hash"))?,
            last_applied: digest("last_applied", cell("tasks", "last_applied"))?,
        },
        queued: queued.map(RunId::from_uuid),
        queued_due: row.try_get("queued_due").map_err(&read)?,
        tried: digest("tried_input", cell("tasks", "tried_input"))?,
        skip_unchanged: row.try_get("skip_unchanged").map_err(&read)?,
        phase: cell("tasks", "phase").phase(row.try_get("phase").map_err(&read)?)?,
        enabled: row.try_get("enabled").map_err(&read)?,
        asked: asked(row).map_err(&read)?,
        earlier: earlier.transpose()?,
    };
    Ok((name.to_owned(), situation))
}

fn asked(row: &PgRow) -> Result<Asked, sqlx::Error> {
    let queued: Option<bool> = row.try_get("earlier_requested")?;
    let open: Option<bool> = row.try_get("request_open")?;
    Ok(match (queued, open) {
        (Some(true), _) => Asked::Queued,
        (_, Some(true)) => Asked::Open,
        (_, Some(false)) => Asked::Refused,
        (_, None) => Asked::Nobody,
    })
}

fn decide<'a>(
    request: &'a EnqueueRequest,
    situation: Option<&Situation>,
    changes: &mut Changes<'a>,
) -> Enqueued {
    let mut answer = Enqueued {
        task: request.task.clone(),
        decision: None,
        queued: None,
        cancelled: None,
    };
    let may = |situation: &&Situation| {
        let Situation {
            phase,
            enabled,
            asked,
            ..
        } = **situation;
        may_enqueue(phase, enabled, request.kind, asked)
    };
    let Some(situation) = situation.filter(may) else {
        return answer;
    };
    let requested = situation.asked == Asked::Open;
    if !request.kind.applies() {
        let queued = situation.earlier.unwrap_or(RunStatus::Queued) == RunStatus::Queued;
        answer.queued = queued.then_some(request.run);
        answer.decision = Some(if situation.earlier.is_some() {
            EnqueueDecision::Keep
        } else {
            changes.insert(request, requested, None);
            EnqueueDecision::Enqueue
        });
        return answer;
    }
    let skip_unchanged = match request.unchanged {
        Unchanged::AsTaskSays => situation.skip_unchanged,
        Unchanged::Skip => true,
        Unchanged::Run => false,
    };
    let decision = if situation.earlier.is_some() {
        EnqueueDecision::Keep
    } else {
        let wanted = WantedApply {
            input: request.input.hash,
            skip_unchanged,
            requested,
        };
        let decision = decide_enqueue(situation.runs, wanted);
        if forgets_attempts(situation.tried, situation.runs, wanted, decision) {
            changes.not_tried(request);
        }
        decision
    };
    answer.decision = Some(decision);
    answer.queued = situation.queued;
    match decision {
        EnqueueDecision::Enqueue => {
            changes.begin(request, requested, None);
            answer.queued = Some(request.run);
        }
        EnqueueDecision::Supersede => {
            changes.cancel(request);
            changes.begin(request, requested, situation.queued_due);
            answer.cancelled = answer.queued.replace(request.run);
        }
        EnqueueDecision::Replace => changes.replace(request),
        EnqueueDecision::Keep => {}
        EnqueueDecision::Skip { cancel_queued } => {
            changes.skip(request);
            if cancel_queued {
                changes.cancel(request);
                answer.cancelled = answer.queued.take();
            }
        }
    }
    answer
}
