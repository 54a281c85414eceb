-- Applies that accompany a declaration, a decision about a state or a journal, and pass no guard. A scheduler of an
-- earlier version lets them pass.
ALTER TABLE run_requests ADD COLUMN accompanies TEXT;  -- JSON: what the run accompanies; NULL if it is requested for itself
ALTER TABLE tasks ADD COLUMN owes_run TEXT;            -- what no apply was leased for yet: declaration, state or journal

CREATE TRIGGER tasks_owes_run
    AFTER UPDATE OF owes_run ON tasks
    FOR EACH ROW WHEN (OLD.owes_run IS DISTINCT FROM NEW.owes_run) EXECUTE FUNCTION cts_task_changed();
