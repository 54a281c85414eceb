-- The span that led to a run, and links of merged ones (docs/telemetry.md#traces).
ALTER TABLE runs ADD COLUMN trace TEXT;          -- JSON; NULL without one
ALTER TABLE run_requests ADD COLUMN trace TEXT;  -- JSON; NULL without one
