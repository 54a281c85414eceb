-- Ticks of schedules that found nothing new, the newest of each task: their events have no run. A new one takes the
-- place of the oldest, so ticks neither grow the database nor replace runs.
CREATE TABLE tick_events (
    task_name  TEXT    NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    place      INTEGER NOT NULL,                    -- number modulo the events that are kept
    number     INTEGER NOT NULL,                    -- counts the ticks of the task
    id         TEXT    NOT NULL,
    start_time INTEGER NOT NULL,
    end_time   INTEGER NOT NULL,
    config     TEXT    NOT NULL,                    -- as in events
    after      INTEGER NOT NULL,                    -- position of the task's newest event at that time; 0 without one
    PRIMARY KEY (task_name, place)
) STRICT;
