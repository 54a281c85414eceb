-- The attempts of a run, what its worker does, and what led to the run. A lease that a scheduler of an earlier version
-- has granted has another epoch than leased_epoch.
ALTER TABLE runs ADD COLUMN leased_epoch BIGINT;     -- epoch of the lease that the next columns are about
ALTER TABLE runs ADD COLUMN leased_at BIGINT;        -- when that lease was granted
ALTER TABLE runs ADD COLUMN leased_by TEXT;          -- the worker that got it; stays when the lease is over
ALTER TABLE runs ADD COLUMN run_phase TEXT;          -- what that worker does, as it reported last; NULL if it reported nothing
ALTER TABLE runs ADD COLUMN run_phase_since BIGINT;  -- since when
ALTER TABLE runs ADD COLUMN ended_attempts TEXT;     -- JSON: ended attempts, oldest first; the newest one may be missing
ALTER TABLE runs ADD COLUMN cause TEXT;              -- JSON: what led to the run; NULL if that is not known
ALTER TABLE events ADD COLUMN cause TEXT;            -- JSON: what led to the run of the event; NULL if that is not known
