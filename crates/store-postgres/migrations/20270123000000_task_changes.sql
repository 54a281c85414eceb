-- The newest change of each task: schedulers keep the states of tasks, and read the tasks anew that have changed since a
-- snapshot. The table is read as a whole, so that no index keeps rows from being updated in place.
ALTER TABLE task_versions ADD COLUMN changed_in XID8 NOT NULL DEFAULT '0';  -- transaction of the newest change of
                                                                            -- anything that is shown of the task

CREATE OR REPLACE FUNCTION cts_task_changed() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM task_versions WHERE task_name = OLD.name;
    ELSE
        INSERT INTO task_versions (task_name, version, changed_in)
        VALUES (NEW.name, cts_lot(), pg_current_xact_id())
        ON CONFLICT (task_name) DO UPDATE SET version = excluded.version, changed_in = excluded.changed_in;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION cts_event_added() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    UPDATE task_versions SET version = cts_lot(), changed_in = pg_current_xact_id()
    WHERE task_name = NEW.task_name;
    RETURN NULL;
END $$;

-- Columns that the current state shows and the status by events does not: the version of the status stays.
CREATE FUNCTION cts_task_shown() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    UPDATE task_versions SET changed_in = pg_current_xact_id() WHERE task_name = NEW.name;
    RETURN NULL;
END $$;

CREATE TRIGGER tasks_shown
    AFTER UPDATE OF explanation, state_conflict, state_conflict_at, state_keep ON tasks
    FOR EACH ROW WHEN ((OLD.explanation, OLD.state_conflict, OLD.state_conflict_at, OLD.state_keep)
        IS DISTINCT FROM (NEW.explanation, NEW.state_conflict, NEW.state_conflict_at, NEW.state_keep))
    EXECUTE FUNCTION cts_task_shown();
