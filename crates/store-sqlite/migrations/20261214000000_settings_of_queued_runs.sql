-- Queued runs have the settings in force of the blocks that their input uses.
CREATE VIEW settings_successors AS              -- of each generation, the one that is in force of its scope
    SELECT s.number, f.number AS successor
    FROM settings s JOIN settings f ON f.scope = s.scope AND f.in_force;

-- Among these are the queued runs that have other settings, or none, and that no change replaces.
CREATE INDEX runs_unsettled ON runs (settings, task_name, id)
    WHERE status = 'queued' AND (settings IS NULL OR requested OR kind <> 'apply');
