-- Makes the schema of 20261202000000, the last one before the first version, that of `initial`.

CREATE TABLE schema_compatibility (
    singleton INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    oldest    INTEGER NOT NULL
) STRICT;

INSERT INTO schema_compatibility (singleton, oldest) VALUES (1, 20261203000000);

DROP TRIGGER runs_unsettle;
ALTER TABLE tasks RENAME COLUMN settled_input TO last_applied;
ALTER TABLE runs RENAME COLUMN single TO no_retry;
ALTER TABLE workers RENAME COLUMN told_to_drain TO drain_requested;
CREATE TRIGGER runs_leased AFTER UPDATE OF status ON runs
WHEN NEW.status = 'running' AND NEW.kind = 'apply'
BEGIN
    UPDATE tasks SET last_applied = NULL WHERE name = NEW.task_name;
END;

DELETE FROM _sqlx_migrations WHERE version <= 20261202000000;
