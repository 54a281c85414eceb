-- Further facts about consent (docs/runs.md#consent).

-- Whether effects of the task may need consent: its own rule or the default in force, that of its deleted declaration, and
-- that of the API. A declaration that Postgres cannot read, such as one with \u0000, may need it: nobody but workers that ask
-- for permission gets its runs.
CREATE OR REPLACE FUNCTION cts_has_rule(task TEXT, spec TEXT) RETURNS BOOLEAN LANGUAGE plpgsql STABLE
AS $$
DECLARE
    own_rule TEXT;
    api_rule TEXT;
BEGIN
    IF spec LIKE '%approval":"%' THEN
        BEGIN
            own_rule := spec::JSONB ->> 'approval';
            api_rule := spec::JSONB ->> 'api_approval';
        EXCEPTION WHEN OTHERS THEN
            RETURN TRUE;
        END;
    END IF;
    RETURN coalesce(
            own_rule,
            (SELECT approvals::JSONB ->> 'rule' FROM configuration_in_force WHERE approvals_number = number),
            'never') <> 'never'
        OR coalesce(api_rule, 'never') <> 'never'
        OR EXISTS (SELECT FROM deleted_tasks WHERE name = task AND approval <> 'never');
END $$;
