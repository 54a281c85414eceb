-- The newest check of a disabled task, which makes it ready.
ALTER TABLE tasks ADD COLUMN last_check TEXT;  -- JSON; NULL without one
