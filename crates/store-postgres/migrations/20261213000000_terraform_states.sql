-- Whose Terraform state is it: what distinguishes the state of a task, and nothing that is in it.
ALTER TABLE tasks ADD COLUMN state_lineage TEXT;         -- NULL: nothing is known
ALTER TABLE tasks ADD COLUMN state_serial BIGINT;        -- when it was reported last
ALTER TABLE tasks ADD COLUMN state_moves BIGINT NOT NULL DEFAULT 0;  -- counts records after which directories are verified again
ALTER TABLE tasks ADD COLUMN state_moved_serial BIGINT;  -- at the last move; NULL: it was never moved
ALTER TABLE tasks ADD COLUMN state_recorded_at BIGINT;   -- when it was reported last
ALTER TABLE tasks ADD COLUMN state_recorded_by TEXT;     -- run, epoch and kind of the last record, which may be repeated
ALTER TABLE tasks ADD COLUMN state_keep TEXT             -- a decision that the next apply carries out
    CHECK (state_keep IN ('old', 'new'));
ALTER TABLE tasks ADD COLUMN state_from TEXT;            -- the next apply takes the state of the task that had this name
ALTER TABLE tasks ADD COLUMN state_conflict TEXT;        -- JSON: why the last run was refused, and the states that it saw
ALTER TABLE tasks ADD COLUMN state_conflict_at BIGINT;
