-- Runs that take place on a server of Terraform. No statement compares what these columns hold.
ALTER TABLE runs ADD COLUMN remote_run TEXT;   -- JSON: the newest one of the run; NULL without one
ALTER TABLE tasks ADD COLUMN remote_run TEXT;  -- JSON: the newest one of the task, with its run, which need not exist any more
