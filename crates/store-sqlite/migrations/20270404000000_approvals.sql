-- Consent of people to the effects of plans (docs/runs.md#consent).

-- Effects that need consent. A row ends with its task, with the apply that used it, and when its effect is gone.
CREATE TABLE approvals (
    task_name   TEXT    NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    incarnation INTEGER NOT NULL,                -- of the task
    effect      TEXT    NOT NULL,                -- fingerprint
    run_id      TEXT    NOT NULL,                -- newest run that had the effect
    input_hash  TEXT    NOT NULL,                -- of that run
    summary     TEXT    NOT NULL,                -- numbers of changes, JSON
    plan        BLOB    NOT NULL,                -- as in plans
    asked_at    INTEGER NOT NULL,                -- since when the effect waits for a decision
    planned_at  INTEGER NOT NULL,                -- newest plan with the effect
    gone_at     INTEGER,                         -- since when the data need the effect no longer; NULL: they need the effect
    decision    TEXT    CHECK (decision IN ('approved', 'rejected')),
    decided_by  TEXT,                            -- caller
    decided_at  INTEGER,
    comment     TEXT,
    expires_at  INTEGER,                         -- of a consent
    used_by     TEXT,                            -- run whose apply has used the consent
    used_input  TEXT,                            -- its input
    PRIMARY KEY (task_name, incarnation, effect)
) STRICT;

CREATE INDEX approvals_run ON approvals (run_id);

-- The effect that the run waits for: in the queue it is not due before a decision.
ALTER TABLE runs ADD COLUMN awaits TEXT;

-- The lease under which the worker asks for permission before it applies.
ALTER TABLE runs ADD COLUMN permission_epoch INTEGER;

CREATE INDEX runs_awaits ON runs (task_name) WHERE awaits IS NOT NULL AND status IN ('queued', 'running');

-- However a run comes back into the queue, and whichever version of the program puts it there. The number is that of a
-- suspended destruction.
CREATE TRIGGER runs_await AFTER UPDATE ON runs
WHEN NEW.awaits IS NOT NULL AND NEW.status = 'queued' AND NEW.due_at <> 253370764800000000
BEGIN
    UPDATE runs SET due_at = 253370764800000000 WHERE id = NEW.id;
END;

-- A run whose worker asks for permission changes nothing before that.
DROP TRIGGER runs_leased;
CREATE TRIGGER runs_leased AFTER UPDATE OF status ON runs
WHEN NEW.status = 'running' AND NEW.kind = 'apply' AND NEW.permission_epoch IS NOT NEW.epoch
BEGIN
    UPDATE tasks SET last_applied = NULL WHERE name = NEW.task_name;
END;

-- Rule and time for tasks without their own, JSON, and the decision that they are of: an earlier version of the program
-- does not write them.
ALTER TABLE configuration_in_force ADD COLUMN approvals TEXT;
ALTER TABLE configuration_in_force ADD COLUMN approvals_number INTEGER;

-- The rule of the deleted declaration, which counts for a new task of that name.
ALTER TABLE deleted_tasks ADD COLUMN approval TEXT;

-- The token has the right to approve, beside its role.
ALTER TABLE access_tokens ADD COLUMN approves INTEGER NOT NULL DEFAULT 0 CHECK (approves IN (0, 1));
