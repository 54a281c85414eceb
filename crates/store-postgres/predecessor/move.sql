-- Makes the schema of 20261202000000, the last one before the first version, that of `initial`.

CREATE TABLE schema_compatibility (
    singleton BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    oldest    BIGINT  NOT NULL
);

INSERT INTO schema_compatibility (oldest) VALUES (20261203000000);

ALTER TABLE tasks RENAME COLUMN settled_input TO last_applied;
ALTER TABLE runs RENAME COLUMN single TO no_retry;
ALTER TABLE workers RENAME COLUMN told_to_drain TO drain_requested;
ALTER TABLE continuity DROP COLUMN in_use;

DELETE FROM _sqlx_migrations WHERE version <= 20261202000000;
