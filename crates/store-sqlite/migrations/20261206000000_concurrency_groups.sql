-- At most one apply of a concurrency group at a time.
ALTER TABLE tasks ADD COLUMN concurrency_group TEXT;  -- NULL: its applies wait for no other task
ALTER TABLE runs ADD COLUMN concurrency_group TEXT;   -- of an apply, as it was when it was leased last; else NULL

CREATE UNIQUE INDEX runs_one_of_group ON runs (concurrency_group)
    WHERE status = 'running' AND concurrency_group IS NOT NULL;

-- The groups of which an apply is running, with its task.
CREATE VIEW busy_groups AS
    SELECT concurrency_group AS name, task_name FROM runs
    WHERE status = 'running' AND concurrency_group IS NOT NULL;
