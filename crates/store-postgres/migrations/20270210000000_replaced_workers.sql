-- Earlier lives of workers, which are no longer shown.
ALTER TABLE workers ADD COLUMN replaced BOOLEAN;   -- a later life has named this one; FALSE: heard after that; NULL: not named
