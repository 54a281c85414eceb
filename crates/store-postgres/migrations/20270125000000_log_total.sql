-- Space of all logs in log_sizes, so that housekeeping reads the runs that have ended since and not all of them.
ALTER TABLE housekeeping ADD COLUMN log_bytes BIGINT NOT NULL DEFAULT 0;

-- The triggers are there when another session writes next.
LOCK TABLE log_sizes IN SHARE ROW EXCLUSIVE MODE;

UPDATE housekeeping SET log_bytes = (SELECT coalesce(sum(bytes), 0) FROM log_sizes);

CREATE FUNCTION cts_count_logs() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    change BIGINT := 0;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        change := change - (SELECT coalesce(sum(bytes), 0) FROM gone);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        change := change + (SELECT coalesce(sum(bytes), 0) FROM come);
    END IF;
    IF change <> 0 THEN
        UPDATE housekeeping SET log_bytes = log_bytes + change;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER log_sizes_come AFTER INSERT ON log_sizes
    REFERENCING NEW TABLE AS come
    FOR EACH STATEMENT EXECUTE FUNCTION cts_count_logs();
CREATE TRIGGER log_sizes_change AFTER UPDATE ON log_sizes
    REFERENCING OLD TABLE AS gone NEW TABLE AS come
    FOR EACH STATEMENT EXECUTE FUNCTION cts_count_logs();
CREATE TRIGGER log_sizes_go AFTER DELETE ON log_sizes
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION cts_count_logs();
