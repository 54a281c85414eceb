-- Deliveries of a task to the receivers of its webhooks. An attempt to apply begins another one if its input is another than
-- that of the attempt before, or if the run before has succeeded.
ALTER TABLE tasks ADD COLUMN delivery INTEGER NOT NULL DEFAULT 0;  -- its number; 0: none yet
ALTER TABLE tasks ADD COLUMN delivery_first_run TEXT;  -- the run with which it began
ALTER TABLE tasks ADD COLUMN delivery_run TEXT;        -- the run of its last attempt
ALTER TABLE tasks ADD COLUMN delivery_input TEXT;  -- the input of its attempts
