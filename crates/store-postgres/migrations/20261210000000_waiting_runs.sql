-- Leased runs that wait for something outside of cts, and take no slot of their worker meanwhile.
ALTER TABLE runs ADD COLUMN waiting_for TEXT;  -- what it waits for, for people; only of a running run
ALTER TABLE runs ADD COLUMN withdrawn BOOLEAN NOT NULL DEFAULT FALSE;  -- its task was changed or disabled since it was leased last
ALTER TABLE runs ADD COLUMN resumed_waits BIGINT NOT NULL DEFAULT 0;  -- the last wait under this lease after which it went on
