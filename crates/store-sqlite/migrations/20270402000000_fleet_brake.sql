-- The brake of the fleet (docs/runs.md#the-brake-of-the-fleet).

-- The numbers of instances that the leader notes.
CREATE TABLE fleet_brake (
    singleton INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (singleton = 1),
    releases  INTEGER NOT NULL,                  -- by persons; the leader names the number that it knows
    noted     TEXT    NOT NULL                   -- JSON
) STRICT;

-- The block fleet_max_shrink of the configuration in force, JSON; NULL without the block.
ALTER TABLE configuration_in_force ADD COLUMN fleet_max_shrink TEXT;

-- The run takes instances away, and the brake is set: in the queue it is not due before the brake ends.
ALTER TABLE runs ADD COLUMN braked INTEGER NOT NULL DEFAULT 0;

CREATE INDEX runs_braked ON runs (task_name) WHERE braked AND status IN ('queued', 'running');

-- However a run comes back into the queue, and whichever version of the program puts it there. The number is that of a
-- suspended destruction.
CREATE TRIGGER runs_braked AFTER UPDATE ON runs
WHEN NEW.braked AND NEW.status = 'queued' AND NEW.due_at <> 253370764800000000
BEGIN
    UPDATE runs SET due_at = 253370764800000000 WHERE id = NEW.id;
END;

CREATE TRIGGER runs_braked_added AFTER INSERT ON runs
WHEN NEW.braked AND NEW.status = 'queued'
BEGIN
    UPDATE runs SET due_at = 253370764800000000 WHERE id = NEW.id;
END;
