-- The newest check of a disabled task, which makes it ready.
ALTER TABLE tasks ADD COLUMN last_check TEXT;  -- JSON; NULL without one

CREATE TRIGGER tasks_checked AFTER UPDATE OF last_check ON tasks
    FOR EACH ROW EXECUTE FUNCTION cts_task_changed();
