-- Ticks of schedules that found nothing new, the newest of each task: their events have no run. A new one takes the
-- place of the oldest, so ticks neither grow the database nor replace runs.
CREATE TABLE tick_events (
    task_name  TEXT   COLLATE "C" NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    place      BIGINT NOT NULL,                     -- number modulo the events that are kept
    number     BIGINT NOT NULL,                     -- counts the ticks of the task
    id         UUID   NOT NULL,
    start_time BIGINT NOT NULL,
    end_time   BIGINT NOT NULL,
    config     TEXT   NOT NULL,                     -- as in events
    after      BIGINT NOT NULL,                     -- position of the task's newest event at that time; 0 without one
    PRIMARY KEY (task_name, place)
) WITH (fillfactor = 50);

CREATE TRIGGER tick_events_added AFTER INSERT OR UPDATE ON tick_events
    FOR EACH ROW EXECUTE FUNCTION cts_event_added();
