-- Rules of consent that an earlier version of the program does not know (docs/runs.md#consent).

-- A member of the JSON text `spec`. Postgres cannot read texts with \u0000, so that escape is left out.
CREATE FUNCTION cts_member(spec TEXT, member TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE
AS $$ SELECT replace(replace(spec, '\\', ''), '\u0000', '')::JSON ->> member $$;

-- As in spec: the rule of the file's declaration, and that of the API's.
ALTER TABLE tasks ADD COLUMN approval TEXT;
ALTER TABLE tasks ADD COLUMN api_approval TEXT;

UPDATE tasks SET approval = cts_member(spec, 'approval'), api_approval = cts_member(spec, 'api_approval')
WHERE spec LIKE '%approval":"%';

-- An earlier version of the program writes spec without the rules, and does not write these columns: the rules stay.
CREATE FUNCTION cts_keep_rules() RETURNS TRIGGER LANGUAGE plpgsql
AS $$
DECLARE
    kept TEXT := '';
BEGIN
    IF NEW.approval IS NOT NULL AND cts_member(NEW.spec, 'approval') IS NULL THEN
        kept := ',"approval":"' || NEW.approval || '"';
    END IF;
    IF NEW.api_approval IS NOT NULL AND cts_member(NEW.spec, 'api_approval') IS NULL THEN
        kept := kept || ',"api_approval":"' || NEW.api_approval || '"';
    END IF;
    NEW.spec := left(NEW.spec, -1) || kept || '}';
    RETURN NEW;
END $$;

CREATE TRIGGER tasks_keep_rules BEFORE UPDATE OF spec ON tasks
    FOR EACH ROW WHEN (NEW.approval IS NOT NULL OR NEW.api_approval IS NOT NULL)
    EXECUTE FUNCTION cts_keep_rules();

-- An earlier version of the program forgets the rule of a declaration that it deletes.
CREATE FUNCTION cts_keep_deleted_rule() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    NEW.approval := (SELECT approval FROM tasks WHERE name = NEW.name);
    RETURN NEW;
END $$;

CREATE TRIGGER deleted_tasks_keep_rule BEFORE INSERT ON deleted_tasks
    FOR EACH ROW WHEN (NEW.approval IS NULL) EXECUTE FUNCTION cts_keep_deleted_rule();
