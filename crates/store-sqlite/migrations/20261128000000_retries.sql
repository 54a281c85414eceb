-- When a start of the program last made the failed runs of a task due at once: not with every start of one that
-- is started over and over. Not moved to another store.
CREATE TABLE hastened_tasks (
    task_name   TEXT   NOT NULL PRIMARY KEY REFERENCES tasks (name) ON DELETE CASCADE,
    hastened_at INTEGER NOT NULL
) STRICT;
