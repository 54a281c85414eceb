-- A requested run swallows no change, and a lost lease counts as an attempt.

-- The input that has had its ordinary attempts since the last change: it was applied, or an ordinary run
-- failed with it for good.
ALTER TABLE tasks ADD COLUMN tried_input TEXT;
-- The end of the last time in which no scheduler served, and when one spoke last. NULL: none has spoken.
ALTER TABLE leadership ADD COLUMN served_since INTEGER;
ALTER TABLE leadership ADD COLUMN served_at INTEGER;
