-- What prune looks for, and what is listed by its status, is found without a look at everything else.

-- The ended runs of a task in the order in which they are forgotten, those with a result apart from those that were
-- cancelled. Earlier tasks of a name come behind later ones.
CREATE INDEX runs_results ON runs (task_name, kind, incarnation DESC, created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed');
CREATE INDEX runs_cancelled ON runs (task_name, kind, incarnation DESC, created_at DESC, id DESC)
    WHERE status = 'cancelled';
DROP INDEX runs_ended;

-- Those that are too old.
CREATE INDEX runs_finished ON runs (finished_at, id) WHERE status IN ('succeeded', 'failed', 'cancelled');

-- Lists of what has failed or was cancelled. What has succeeded is found everywhere.
CREATE INDEX runs_not_applied ON runs (status, id) WHERE status IN ('failed', 'cancelled');

-- For whoever looks for due runs, and says so with this condition. When statistics were made of an empty queue, all
-- indexes of queued runs seem equally good, also for a look at the queued run of one task.
DROP INDEX runs_due;
CREATE INDEX runs_due ON runs (due_at, id) WHERE status = 'queued' AND due_at >= 0;
