//! Events of ticks without changes (docs/runs.md#schedules).

use cts_core::{EVENTS_KEPT, EventId, TaskName};
use cts_store::fields::Fields;
use cts_store::{Event, StoreError, decode};
use serde_json::json;

use crate::{Connection, sql};

/// An event of a tick, with the position of the newest run event before it.
pub(crate) struct TickEvent {
    pub(crate) after: i64,
    pub(crate) event: Event,
}

/// Stores the events of ticks of these tasks, at most one for each task. A stored event stays unchanged.
pub async fn store(
    c: &mut dyn Connection,
    ticks: &[(&TaskName, EventId)],
) -> Result<(), StoreError> {
    if ticks.is_empty() {
        return Ok(());
    }
    let rows = ticks.iter();
    let rows = rows.map(|(task, event)| json!({"name": task.as_str(), "id": event.to_string()}));
    sql(
        "store events of ticks",
        "-- enqueue: ticks; index events_task
        INSERT INTO tick_events (task_name, place, number, id, start_time, end_time, config, after)
        SELECT name, number % $2, number, id, {now}, {now}, config, after
        FROM (SELECT t.name, n.id, t.event_config AS config,
                     (SELECT coalesce(max(e.position), 0) FROM events e
                      WHERE e.task_name = t.name AND e.incarnation = t.incarnation) AS after,
                     (SELECT coalesce(max(k.number), 0) + 1 FROM tick_events k
                      WHERE k.task_name = t.name) AS number
              FROM {rows $1 n: name TEXT, id UUID} JOIN tasks t ON t.name = n.name
              WHERE NOT EXISTS (
                  SELECT 1 FROM tick_events k WHERE k.task_name = t.name AND k.id = n.id)) added
        WHERE TRUE
        ON CONFLICT (task_name, place) DO UPDATE
        SET number = excluded.number, id = excluded.id, start_time = excluded.start_time,
            end_time = excluded.end_time, config = excluded.config, after = excluded.after",
    )
    .bind(rows.collect::<serde_json::Value>().to_string())
    .bind(EVENTS_KEPT)
    .execute(c)
    .await?;
    Ok(())
}

/// Events of ticks of these tasks, or of all tasks, newest first for each task.
pub(crate) async fn all(
    c: &mut dyn Connection,
    tasks: Option<&[TaskName]>,
) -> Result<Vec<TickEvent>, StoreError> {
    let which = match tasks {
        Some(_) => "WHERE task_name {in $1}",
        None => "",
    };
    let rows = sql(
        "read events of ticks",
        format!(
            "-- task_state, task_states, task_facts: ticks
            SELECT task_name, id, start_time, end_time, config, after FROM tick_events
            {which} ORDER BY task_name, number DESC"
        ),
    );
    let rows = match tasks {
        Some(tasks) => rows.bind(tasks),
        None => rows,
    };
    rows.all(c, |row| {
        let fields = Fields::new(row, "read events of ticks", "tick_events").keyed_by_id("id")?;
        Ok(TickEvent {
            after: fields.integer("after")?,
            event: decode::tick_event(row)?,
        })
    })
    .await
}

/// Merges the newest events of runs, with their positions, and of ticks; all newest first.
pub(crate) fn merged(runs: Vec<(i64, Event)>, ticks: Vec<TickEvent>) -> Vec<Event> {
    let mut ticks = ticks.into_iter().peekable();
    let mut events = Vec::with_capacity(EVENTS_KEPT);
    for (position, run) in runs {
        while let Some(tick) = ticks.next_if(|tick| tick.after >= position) {
            events.push(tick.event);
        }
        events.push(run);
    }
    events.extend(ticks.map(|tick| tick.event));
    events.truncate(EVENTS_KEPT);
    events
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cts_core::EventConfig;
    use uuid::Uuid;

    use super::*;

    fn event(number: u128) -> Event {
        Event {
            id: EventId::from_uuid(Uuid::from_u128(number)),
            task_name: "t".parse().unwrap(),
            run_id: None,
            success: true,
            start_time: DateTime::UNIX_EPOCH,
            end_time: DateTime::UNIX_EPOCH,
            error: None,
            resources: None,
            remote_url: None,
            requested_by: None,
            cause: None,
            config: EventConfig {
                providers: Vec::new(),
                services: Vec::new(),
                source: String::new(),
            },
        }
    }

    #[test]
    fn ticks_stand_between_the_runs_before_and_after_them_and_the_newest_are_kept() {
        let merged_of = |runs: &[i64], ticks: &[(i64, u128)]| {
            let runs = runs
                .iter()
                .map(|&position| (position, event(u128::from(position.unsigned_abs()))));
            let ticks = ticks.iter().map(|&(after, number)| TickEvent {
                after,
                event: event(number),
            });
            let merged = merged(runs.collect(), ticks.collect());
            let ids = merged.iter().map(|event| event.id.as_uuid().as_u128());
            ids.collect::<Vec<_>>()
        };
        assert_eq!(merged_of(&[], &[]), [0; 0]);
        assert_eq!(merged_of(&[9, 4], &[]), [9, 4]);
        assert_eq!(merged_of(&[], &[(0, 102), (0, 101)]), [102, 101]);
        assert_eq!(
            merged_of(&[9, 4], &[(9, 103), (4, 102), (0, 101)]),
            [103, 9, 102, 4, 101]
        );
        assert_eq!(
            merged_of(&[9, 8, 7, 6, 5], &[(9, 102), (3, 101)]),
            [102, 9, 8, 7, 6]
        );
        assert_eq!(
            merged_of(&[4], &[(9, 105), (9, 104), (4, 103), (4, 102), (4, 101)]),
            [105, 104, 103, 102, 101],
            "runs that were forgotten"
        );
    }
}
