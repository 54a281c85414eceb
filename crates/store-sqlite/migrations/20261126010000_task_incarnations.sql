-- Runs and their events outlive their task. A task that is made under an old name is another one: it has an
-- incarnation of its own, one more than the newest of which there are runs, and its runs and events have the same.

ALTER TABLE tasks ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 1;

-- The reference to the task belongs to the column, so the column is made anew; whatever speaks of it goes and
-- comes back. The rows of logs, of which there are many, stay where they are.
DROP INDEX runs_one_queued;
DROP INDEX runs_one_running;
DROP INDEX runs_waiting;
DROP INDEX runs_ended;
DROP INDEX runs_task;
DROP TRIGGER runs_unsettle;
ALTER TABLE runs RENAME COLUMN task_name TO earlier_name;
ALTER TABLE runs ADD COLUMN task_name TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 1;
UPDATE runs SET task_name = earlier_name;
ALTER TABLE runs DROP COLUMN earlier_name;

-- What is queued or running is always of the task that is there.
CREATE UNIQUE INDEX runs_one_queued ON runs (task_name) WHERE status = 'queued' AND kind = 'apply';
CREATE UNIQUE INDEX runs_one_running ON runs (task_name) WHERE status = 'running';
CREATE INDEX runs_waiting ON runs (task_name, due_at) WHERE status = 'queued';
CREATE INDEX runs_ended ON runs (task_name, kind, status = 'cancelled', created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX runs_task ON runs (task_name, id);
CREATE TRIGGER runs_unsettle AFTER UPDATE OF status ON runs
WHEN NEW.status = 'running' AND NEW.kind = 'apply'
BEGIN
    UPDATE tasks SET settled_input = NULL WHERE name = NEW.task_name;
END;

DROP INDEX events_task;
ALTER TABLE events RENAME COLUMN task_name TO earlier_name;
ALTER TABLE events ADD COLUMN task_name TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 1;
UPDATE events SET task_name = earlier_name;
ALTER TABLE events DROP COLUMN earlier_name;
CREATE INDEX events_task ON events (task_name, incarnation, position);
