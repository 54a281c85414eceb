-- The destruction of a task's infrastructure before the task goes.
ALTER TABLE tasks ADD COLUMN destroy_run TEXT;  -- of a task that is being deleted: the run that destroys it, which is
                                                -- queued when nothing else of it runs; NULL: it is retained
-- The kind of such a run is 'check', as which it does no harm where it is not known.
ALTER TABLE runs ADD COLUMN destroys TEXT       -- 'apply': it destroys; 'plan': it shows what that would; NULL: neither
    CHECK (destroys IN ('apply', 'plan'));
