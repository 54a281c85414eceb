-- Logins on the page (docs/access.md#sessions).

CREATE TABLE sessions (
    sha256   BLOB    NOT NULL PRIMARY KEY,       -- of the secret in the cookie
    kind     TEXT    NOT NULL,                   -- with name and issuer: the person, as in audit_records
    name     TEXT    NOT NULL,
    issuer   TEXT    NOT NULL,
    role     TEXT    NOT NULL,
    tasks    TEXT    NOT NULL,                   -- as in access_tokens
    token    TEXT,                               -- static token of the login, with which the session ends
    begun_at INTEGER NOT NULL,
    ends_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_person ON sessions (name, kind, issuer);
CREATE INDEX sessions_token ON sessions (token);
CREATE INDEX sessions_ends ON sessions (ends_at);

-- A random number that changes with the sessions.
CREATE TABLE session_head (
    singleton INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (singleton = 1),
    version   INTEGER NOT NULL
) STRICT;

INSERT INTO session_head (singleton, version) VALUES (1, 0);

CREATE TRIGGER sessions_begin AFTER INSERT ON sessions
BEGIN
    UPDATE session_head SET version = random();
END;

CREATE TRIGGER sessions_end AFTER DELETE ON sessions
BEGIN
    UPDATE session_head SET version = random();
END;

-- Whichever version of the program revokes the token.
CREATE TRIGGER access_tokens_revoke AFTER DELETE ON access_tokens
BEGIN
    DELETE FROM sessions WHERE token = OLD.name;
END;

CREATE INDEX audit_logins ON audit_records (number) WHERE action IN ('session.begin', 'session.end');
