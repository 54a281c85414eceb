-- A run whose Terraform state was refused: no run of its task that changes anything is leased before a decision.
ALTER TABLE tasks ADD COLUMN state_refused TEXT        -- NULL: not since this column exists
    CHECK (state_refused IN ('everywhere', 'unless_named'));  -- unless_named: a worker that names a previous backend may look
ALTER TABLE tasks ADD COLUMN state_refused_settings INTEGER;  -- of the refused run; runs with other settings may look. NULL: none may
