-- Leases that were taken back because their holder had fallen silent: what their Terraform has left behind, such as
-- the lock of a state, is known by them.
CREATE TABLE lost_leases (
    run_id     TEXT    NOT NULL,
    epoch      INTEGER NOT NULL,
    task_name  TEXT    NOT NULL,
    holder     TEXT    NOT NULL,
    started_at INTEGER NOT NULL,  -- begin of the first attempt of the run
    lost_at    INTEGER NOT NULL,
    PRIMARY KEY (run_id, epoch)
) STRICT;

CREATE INDEX lost_leases_of_task ON lost_leases (task_name, lost_at);
