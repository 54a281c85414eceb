-- The guard of a task against the loss of instances. All of it is NULL for tasks without one.
ALTER TABLE inputs ADD COLUMN instances TEXT;         -- how many instances each service has in it, JSON
ALTER TABLE tasks ADD COLUMN applied_instances TEXT;  -- the same of the input that was applied last, or that an operator
                                                      -- has released
ALTER TABLE tasks ADD COLUMN held TEXT;               -- why its newest input is not applied, JSON; NULL if nothing holds it
