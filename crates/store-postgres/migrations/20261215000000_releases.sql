-- What an operator has released, by service, as long as something else may be applied before it.
ALTER TABLE tasks ADD COLUMN released_instances TEXT;  -- JSON as in applied_instances; NULL if nothing is
