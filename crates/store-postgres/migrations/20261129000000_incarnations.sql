-- A member id belongs to one life of one process at a time, and so does the leadership. The incarnation of
-- what an earlier version has written is not known, which is nil.

ALTER TABLE members ADD COLUMN incarnation UUID NOT NULL
    DEFAULT '00000000-0000-0000-0000-000000000000';

-- Of the last holder; stays when the lease has expired.
ALTER TABLE leadership ADD COLUMN incarnation UUID;
