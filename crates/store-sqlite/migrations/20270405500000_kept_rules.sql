-- Rules of consent that an earlier version of the program does not know (docs/runs.md#consent).

-- As in spec: the rule of the file's declaration, and that of the API's.
ALTER TABLE tasks ADD COLUMN approval TEXT;
ALTER TABLE tasks ADD COLUMN api_approval TEXT;

UPDATE tasks SET approval = spec ->> '$.approval', api_approval = spec ->> '$.api_approval'
WHERE spec LIKE '%approval":"%';

-- An earlier version of the program writes spec without the rules, and does not write these columns: the rules stay.
CREATE TRIGGER tasks_keep_rules AFTER UPDATE OF spec ON tasks
WHEN NEW.approval IS NOT NULL AND NEW.spec ->> '$.approval' IS NULL
    OR NEW.api_approval IS NOT NULL AND NEW.spec ->> '$.api_approval' IS NULL
BEGIN
    UPDATE tasks
    SET spec = substr(spec, 1, length(spec) - 1)
        || CASE WHEN approval IS NOT NULL AND spec ->> '$.approval' IS NULL
           THEN ',"approval":"' || approval || '"' ELSE '' END
        || CASE WHEN api_approval IS NOT NULL AND spec ->> '$.api_approval' IS NULL
           THEN ',"api_approval":"' || api_approval || '"' ELSE '' END
        || '}'
    WHERE name = NEW.name;
END;

-- An earlier version of the program forgets the rule of a declaration that it deletes.
CREATE TRIGGER deleted_tasks_keep_rule AFTER INSERT ON deleted_tasks
WHEN NEW.approval IS NULL
BEGIN
    UPDATE deleted_tasks SET approval = (SELECT t.approval FROM tasks t WHERE t.name = NEW.name) WHERE name = NEW.name;
END;
