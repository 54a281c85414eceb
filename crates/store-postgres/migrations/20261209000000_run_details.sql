-- What the last attempt at a run did, if its worker has said.
ALTER TABLE runs ADD COLUMN summary TEXT;   -- JSON: numbers of resources, and times
ALTER TABLE runs ADD COLUMN findings TEXT;  -- JSON: changes and diagnostics; not in lists
