-- Consent of people to the effects of plans (docs/runs.md#consent).

-- Effects that need consent. A row ends with its task, with the apply that used it, and when its effect is gone.
CREATE TABLE approvals (
    task_name   TEXT   COLLATE "C" NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    incarnation BIGINT NOT NULL,                 -- of the task
    effect      TEXT   NOT NULL,                 -- fingerprint
    run_id      UUID   NOT NULL,                 -- newest run that had the effect
    input_hash  TEXT   NOT NULL,                 -- of that run
    summary     TEXT   NOT NULL,                 -- numbers of changes, JSON
    plan        BYTEA  NOT NULL,                 -- as in plans
    asked_at    BIGINT NOT NULL,                 -- since when the effect waits for a decision
    planned_at  BIGINT NOT NULL,                 -- newest plan with the effect
    gone_at     BIGINT,                          -- since when the data need the effect no longer; NULL: they need the effect
    decision    TEXT   CHECK (decision IN ('approved', 'rejected')),
    decided_by  TEXT,                            -- caller
    decided_at  BIGINT,
    comment     TEXT,
    expires_at  BIGINT,                          -- of a consent
    used_by     UUID,                            -- run whose apply has used the consent
    used_input  TEXT,                            -- its input
    PRIMARY KEY (task_name, incarnation, effect)
);

-- The content is compressed already.
ALTER TABLE approvals ALTER COLUMN plan SET STORAGE EXTERNAL;

CREATE INDEX approvals_run ON approvals (run_id);

-- The effect that the run waits for: in the queue it is not due before a decision.
ALTER TABLE runs ADD COLUMN awaits TEXT;

-- The lease under which the worker asks for permission before it applies.
ALTER TABLE runs ADD COLUMN permission_epoch BIGINT;

CREATE INDEX runs_awaits ON runs (task_name) WHERE awaits IS NOT NULL AND status IN ('queued', 'running');

-- However a run comes back into the queue, and whichever version of the program puts it there. An earlier version gives a
-- waiting run another input without ending its wait.
CREATE FUNCTION cts_run_awaits() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    IF TG_OP = 'UPDATE' AND OLD.awaits IS NOT DISTINCT FROM NEW.awaits AND OLD.input_hash <> NEW.input_hash THEN
        NEW.awaits := NULL;
    ELSE
        NEW.due_at := 253370764800000000;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER runs_await BEFORE INSERT OR UPDATE ON runs
    FOR EACH ROW WHEN (NEW.awaits IS NOT NULL AND NEW.status = 'queued') EXECUTE FUNCTION cts_run_awaits();

-- Rule and time for tasks without their own, JSON, and the decision that they are of: an earlier version of the program
-- does not write them.
ALTER TABLE configuration_in_force ADD COLUMN approvals TEXT;
ALTER TABLE configuration_in_force ADD COLUMN approvals_number BIGINT;

-- The rule of the deleted declaration, which counts for a new task of that name.
ALTER TABLE deleted_tasks ADD COLUMN approval TEXT;

-- Whether effects of the task may need consent: its own rule or the default in force, and that of its deleted declaration.
CREATE FUNCTION cts_has_rule(task TEXT, spec TEXT) RETURNS BOOLEAN LANGUAGE plpgsql STABLE
AS $$ BEGIN
    RETURN coalesce(
            CASE WHEN spec LIKE '%"approval":"%' THEN spec::JSONB ->> 'approval' END,
            (SELECT approvals::JSONB ->> 'rule' FROM configuration_in_force WHERE approvals_number = number),
            'never') <> 'never'
        OR EXISTS (SELECT FROM deleted_tasks WHERE name = task AND approval <> 'never');
END $$;

-- An earlier version of the program leases runs to workers that ask for no permission. It finds no run that needs one.
CREATE FUNCTION cts_unasked_lease() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    IF EXISTS (SELECT FROM tasks WHERE name = NEW.task_name AND cts_has_rule(name, spec)) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER runs_unasked BEFORE UPDATE ON runs
    FOR EACH ROW WHEN (OLD.status = 'queued' AND NEW.status = 'running' AND NEW.holder <> ''
        AND coalesce(NEW.destroys, NEW.kind) = 'apply' AND NEW.permission_epoch IS DISTINCT FROM NEW.epoch)
    EXECUTE FUNCTION cts_unasked_lease();

-- The token has the right to approve, beside its role.
ALTER TABLE access_tokens ADD COLUMN approves BOOLEAN NOT NULL DEFAULT FALSE;
