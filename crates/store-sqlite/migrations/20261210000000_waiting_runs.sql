-- Leased runs that wait for something outside of cts, and take no slot of their worker meanwhile.
ALTER TABLE runs ADD COLUMN waiting_for TEXT;  -- what it waits for, for people; only of a running run
ALTER TABLE runs ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0 CHECK (withdrawn IN (0, 1));  -- its task was changed or disabled since it was leased last
ALTER TABLE runs ADD COLUMN resumed_waits INTEGER NOT NULL DEFAULT 0;  -- the last wait under this lease after which it went on
