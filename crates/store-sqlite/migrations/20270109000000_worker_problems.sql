-- Workers whose machine cannot work, and runs that prefer another worker after that.
ALTER TABLE workers ADD COLUMN problem TEXT;          -- JSON: why its own check fails; NULL for a healthy worker
ALTER TABLE runs ADD COLUMN elsewhere_until INTEGER;   -- until then other workers than leased_by get the run
