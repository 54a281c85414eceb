-- The brake of the fleet (docs/runs.md#the-brake-of-the-fleet).

-- The numbers of instances that the leader notes.
CREATE TABLE fleet_brake (
    singleton BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    releases  BIGINT  NOT NULL,                  -- by persons; the leader names the number that it knows
    noted     TEXT    NOT NULL                   -- JSON
);

-- The block fleet_max_shrink of the configuration in force, JSON; NULL without the block.
ALTER TABLE configuration_in_force ADD COLUMN fleet_max_shrink TEXT;

-- The run takes instances away, and the brake is set: in the queue it is not due before the brake ends.
ALTER TABLE runs ADD COLUMN braked BOOLEAN NOT NULL DEFAULT FALSE;

CREATE INDEX runs_braked ON runs (task_name) WHERE braked AND status IN ('queued', 'running');

-- However a run comes back into the queue, and whichever version of the program puts it there. The number is that of a
-- suspended destruction.
CREATE FUNCTION cts_run_braked() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    NEW.due_at := 253370764800000000;
    RETURN NEW;
END $$;

CREATE TRIGGER runs_braked BEFORE INSERT OR UPDATE ON runs
    FOR EACH ROW WHEN (NEW.braked AND NEW.status = 'queued') EXECUTE FUNCTION cts_run_braked();
