-- The concurrency group of a run whose remote run has not ended: somebody may confirm it on its server at any time, also
-- while its run waits, or is queued again because its worker has drained or is lost.
ALTER TABLE runs ADD COLUMN remote_group TEXT;  -- NULL: no group, or no such remote run; of a run that has ended it means nothing

CREATE INDEX runs_remote_group ON runs (remote_group)
    WHERE remote_group IS NOT NULL AND status IN ('queued', 'running');

UPDATE runs
SET remote_group = (SELECT t.concurrency_group FROM tasks t WHERE t.name = task_name)
WHERE status IN ('queued', 'running') AND coalesce(destroys, kind) = 'apply' AND remote_run LIKE '%"ended":false%';

-- The groups that are taken, with the run and the task of each: a leased apply has the group (leased), or a remote run
-- keeps it.
CREATE VIEW taken_groups AS
    SELECT concurrency_group AS name, task_name, id AS run_id, TRUE AS leased FROM runs
    WHERE status = 'running' AND concurrency_group IS NOT NULL
    UNION ALL
    SELECT remote_group, task_name, id, FALSE FROM runs
    WHERE status IN ('queued', 'running') AND remote_group IS NOT NULL;
