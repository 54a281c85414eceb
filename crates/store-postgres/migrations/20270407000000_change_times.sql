-- How long changes take until they are applied (docs/rest.md#times).

-- A row of the last day is of a minute and of one life of a scheduler, an older one of an hour.
CREATE TABLE change_times (
    begins_at BIGINT NOT NULL,
    scheduler TEXT   COLLATE "C" NOT NULL,       -- its incarnation; empty: the sum of an hour
    times     TEXT   NOT NULL,                   -- numbers of changes by phase and duration, JSON
    PRIMARY KEY (begins_at, scheduler)
);
