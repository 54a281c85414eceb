-- What the last attempt of an event's run did, as in the run.
ALTER TABLE events ADD COLUMN summary TEXT;  -- JSON: numbers of resources, and times; NULL if its worker has not said
