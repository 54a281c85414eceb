-- The call of its holder that a lease was granted to, so that a grant whose answer was lost can be given back.
ALTER TABLE runs ADD COLUMN claim TEXT;
