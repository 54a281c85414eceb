-- The process that a worker's id belongs to.
ALTER TABLE workers ADD COLUMN registration TEXT;   -- SHA-256 of the registration; NULL: a worker of an earlier version
