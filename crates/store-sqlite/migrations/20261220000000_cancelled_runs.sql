-- Runs that are cancelled on request.
ALTER TABLE runs ADD COLUMN cancel_requested_at INTEGER;  -- when the first order to stop it was given, of a leased run
ALTER TABLE runs ADD COLUMN cancel_force INTEGER NOT NULL DEFAULT 0 CHECK (cancel_force IN (0, 1));  -- it is to be stopped by force
ALTER TABLE runs ADD COLUMN cancel_noted_at INTEGER;  -- when its worker took note
ALTER TABLE tasks ADD COLUMN cancelled_input TEXT;  -- input of a cancelled run, which has no run until a newer one comes or a run is requested
ALTER TABLE tasks ADD COLUMN destruction_suspended_at INTEGER;  -- when destroy_run was cancelled, which is not due meanwhile

-- What a scheduler of an earlier version has put back.
CREATE INDEX runs_cancel_requested ON runs (id) WHERE status = 'queued' AND cancel_requested_at IS NOT NULL;
