-- Earlier lives of workers, which are no longer shown.
ALTER TABLE workers ADD COLUMN replaced INTEGER CHECK (replaced IN (0, 1));   -- a later life has named this one; FALSE: heard after that; NULL: not named
