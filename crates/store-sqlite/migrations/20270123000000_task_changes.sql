-- The newest change of each task: schedulers keep the states of tasks, and read the tasks anew that have changed. Triggers
-- keep the table, so that no writer can forget a change. A row moves to the end with each change; numbers are never used
-- again.
CREATE TABLE task_changes (
    number    INTEGER PRIMARY KEY AUTOINCREMENT,    -- of the newest change of anything that is shown of the task
    task_name TEXT    NOT NULL UNIQUE
) STRICT;

INSERT INTO task_changes (task_name) SELECT name FROM tasks ORDER BY name;

CREATE TRIGGER tasks_added AFTER INSERT ON tasks
BEGIN
    DELETE FROM task_changes WHERE task_name = NEW.name;
    INSERT INTO task_changes (task_name) VALUES (NEW.name);
END;

CREATE TRIGGER tasks_shown
    AFTER UPDATE OF enabled, event_config, phase, incarnation, owes_run, explanation, held, last_check,
                    state_conflict, state_conflict_at, state_keep ON tasks
    WHEN (OLD.enabled, OLD.event_config, OLD.phase, OLD.incarnation, OLD.owes_run, OLD.explanation, OLD.held,
          OLD.last_check, OLD.state_conflict, OLD.state_conflict_at, OLD.state_keep)
        IS NOT (NEW.enabled, NEW.event_config, NEW.phase, NEW.incarnation, NEW.owes_run, NEW.explanation, NEW.held,
                NEW.last_check, NEW.state_conflict, NEW.state_conflict_at, NEW.state_keep)
BEGIN
    DELETE FROM task_changes WHERE task_name = NEW.name;
    INSERT INTO task_changes (task_name) VALUES (NEW.name);
END;

CREATE TRIGGER tasks_removed AFTER DELETE ON tasks
BEGIN
    DELETE FROM task_changes WHERE task_name = OLD.name;
END;

CREATE TRIGGER events_added AFTER INSERT ON events
BEGIN
    DELETE FROM task_changes WHERE task_name = NEW.task_name;
    INSERT INTO task_changes (task_name) VALUES (NEW.task_name);
END;

CREATE TRIGGER tick_events_added AFTER INSERT ON tick_events
BEGIN
    DELETE FROM task_changes WHERE task_name = NEW.task_name;
    INSERT INTO task_changes (task_name) VALUES (NEW.task_name);
END;

CREATE TRIGGER tick_events_replaced AFTER UPDATE ON tick_events
BEGIN
    DELETE FROM task_changes WHERE task_name = NEW.task_name;
    INSERT INTO task_changes (task_name) VALUES (NEW.task_name);
END;
