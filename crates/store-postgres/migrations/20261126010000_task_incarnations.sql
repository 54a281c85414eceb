-- Runs and their events outlive their task. A task that is made under an old name is another one: it has an
-- incarnation of its own, and its runs and events have the same.

CREATE SEQUENCE task_incarnations AS BIGINT START WITH 2;

ALTER TABLE tasks ADD COLUMN incarnation BIGINT NOT NULL DEFAULT 1;
ALTER TABLE tasks ALTER COLUMN incarnation SET DEFAULT nextval('task_incarnations');

-- What is queued or running is always of the task that is there.
ALTER TABLE runs
    DROP CONSTRAINT runs_task_name_fkey,
    ADD COLUMN incarnation BIGINT NOT NULL DEFAULT 1;
ALTER TABLE runs ALTER COLUMN incarnation DROP DEFAULT;

ALTER TABLE events ADD COLUMN incarnation BIGINT NOT NULL DEFAULT 1;
ALTER TABLE events ALTER COLUMN incarnation DROP DEFAULT;

DROP INDEX events_task;
CREATE INDEX events_task ON events (task_name, incarnation, position);
