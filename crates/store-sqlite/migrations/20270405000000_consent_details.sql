-- Further facts about consent (docs/runs.md#consent).

-- Only Postgres has a function with the rule of a task; a migration of each name is in both.
SELECT 1;
