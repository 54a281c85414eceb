-- Runs that only plan, and runs with one attempt.

ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'apply' CHECK (kind IN ('apply', 'plan'));
ALTER TABLE runs ADD COLUMN single INTEGER NOT NULL DEFAULT 0 CHECK (single IN (0, 1));
-- What a plan says: all three of a plan that has succeeded, none of any other run.
ALTER TABLE runs ADD COLUMN changes_present INTEGER CHECK (changes_present IN (0, 1));
ALTER TABLE runs ADD COLUMN plan_encoding TEXT CHECK (plan_encoding IN ('plain', 'zstd'));
ALTER TABLE runs ADD COLUMN plan BLOB;

-- Any number of plans may be queued; still one run of a task is running, of whatever kind.
DROP INDEX runs_one_queued;
CREATE UNIQUE INDEX runs_one_queued ON runs (task_name) WHERE status = 'queued' AND kind = 'apply';
CREATE INDEX runs_waiting ON runs (task_name, due_at) WHERE status = 'queued';

DROP INDEX runs_ended;
CREATE INDEX runs_ended ON runs (task_name, kind, status = 'cancelled', created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed', 'cancelled');

-- A plan changes nothing.
DROP TRIGGER runs_unsettle;
CREATE TRIGGER runs_unsettle AFTER UPDATE OF status ON runs
WHEN NEW.status = 'running' AND NEW.kind = 'apply'
BEGIN
    UPDATE tasks SET settled_input = NULL WHERE name = NEW.task_name;
END;
