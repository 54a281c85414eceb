-- Logins on the page (docs/access.md#sessions).

-- A session ends with its token, whichever version of the program revokes that.
CREATE TABLE sessions (
    sha256   BYTEA  NOT NULL PRIMARY KEY,        -- of the secret in the cookie
    kind     TEXT   NOT NULL,                    -- with name and issuer: the person, as in audit_records
    name     TEXT   NOT NULL,
    issuer   TEXT   NOT NULL,
    role     TEXT   NOT NULL,
    tasks    TEXT   NOT NULL,                    -- as in access_tokens
    token    TEXT   REFERENCES access_tokens (name) ON DELETE CASCADE, -- static token of the login
    begun_at BIGINT NOT NULL,
    ends_at  BIGINT NOT NULL
);

CREATE INDEX sessions_person ON sessions (name, kind, issuer);
CREATE INDEX sessions_token ON sessions (token);
CREATE INDEX sessions_ends ON sessions (ends_at);

-- A random number that changes with the sessions: after a failover of the database no earlier number comes again.
-- Writers of sessions wait for this row before they lock another one.
CREATE TABLE session_head (
    singleton BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    version   BIGINT  NOT NULL
);

INSERT INTO session_head (version) VALUES (0);

CREATE FUNCTION cts_change_sessions() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    UPDATE session_head SET version = (random() * 9007199254740991)::BIGINT;
    RETURN NULL;
END $$;

CREATE TRIGGER sessions_change BEFORE INSERT OR DELETE ON sessions
    FOR EACH STATEMENT EXECUTE FUNCTION cts_change_sessions();

CREATE TRIGGER access_tokens_revoke BEFORE DELETE ON access_tokens
    FOR EACH STATEMENT EXECUTE FUNCTION cts_change_sessions();

CREATE INDEX audit_logins ON audit_records (number) WHERE action IN ('session.begin', 'session.end');
