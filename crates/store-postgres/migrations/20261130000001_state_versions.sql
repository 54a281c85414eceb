-- Shows whether the states of tasks are others than before. Most of what is written changes none: runs on
-- their way, log lines, heartbeats. Kept by triggers, so that no writer can forget it. A row is locked by
-- those only who have locked its task.

CREATE TABLE task_versions (
    task_name TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    version   BIGINT NOT NULL                       -- drawn anew with every change of the task's state
) WITH (fillfactor = 50);

-- By lot, because a count may come again on a server that took over from another one.
CREATE FUNCTION cts_lot() RETURNS BIGINT LANGUAGE sql VOLATILE
AS $$ SELECT (random() * 9007199254740991)::BIGINT $$;

INSERT INTO task_versions (task_name, version) SELECT name, cts_lot() FROM tasks;

CREATE FUNCTION cts_task_changed() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM task_versions WHERE task_name = OLD.name;
    ELSE
        INSERT INTO task_versions (task_name, version) VALUES (NEW.name, cts_lot())
        ON CONFLICT (task_name) DO UPDATE SET version = excluded.version;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER tasks_changed
    AFTER INSERT OR DELETE OR UPDATE OF enabled, event_config, phase, incarnation ON tasks
    FOR EACH ROW EXECUTE FUNCTION cts_task_changed();

CREATE FUNCTION cts_event_added() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    UPDATE task_versions SET version = cts_lot() WHERE task_name = NEW.task_name;
    RETURN NULL;
END $$;

CREATE TRIGGER events_added AFTER INSERT ON events
    FOR EACH ROW EXECUTE FUNCTION cts_event_added();
