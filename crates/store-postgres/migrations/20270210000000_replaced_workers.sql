-- Earlier lives of workers, which are no longer shown.
ALTER TABLE workers ADD COLUMN replaced BOOLEAN;   -- TRUE: a later life has named this life; FALSE: this life was heard afterwards; NULL: no life has named this life
