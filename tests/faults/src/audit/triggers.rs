//! Tables and triggers that keep every write, for either database.
//!
//! Their names and those of cts do not meet: they are in the schema `audit`, for which SQLite has a prefix.

/// Tables with their columns after the first one, which numbers the rows. Rows of one run or of the leadership
/// are in the order in which they were written: the row was locked.
const TABLES: [(&str, &str); 9] = [
    (
        "runs",
        "at BIGINT NOT NULL, run TEXT NOT NULL, task TEXT NOT NULL, kind TEXT NOT NULL, input TEXT NOT NULL,
         old_status TEXT, new_status TEXT, old_epoch BIGINT, new_epoch BIGINT,
         old_holder TEXT, new_holder TEXT, old_expires BIGINT, new_expires BIGINT, due BIGINT,
         requested BOOLEAN NOT NULL, ordered BOOLEAN NOT NULL",
    ),
    (
        "leadership",
        "at BIGINT NOT NULL, old_epoch BIGINT NOT NULL, new_epoch BIGINT NOT NULL, old_holder TEXT,
         new_holder TEXT, old_expires BIGINT NOT NULL, new_expires BIGINT NOT NULL",
    ),
    (
        "switches",
        "at BIGINT NOT NULL, task TEXT NOT NULL, enabled BOOLEAN",
    ),
    ("skips", "at BIGINT NOT NULL, task TEXT NOT NULL"),
    ("settlements", "at BIGINT NOT NULL, trusted BOOLEAN NOT NULL"),
    ("events", "task TEXT NOT NULL, run TEXT NOT NULL, id TEXT NOT NULL"),
    // Inputs with their contents, which the database forgets with their runs.
    ("inputs", "input BIGINT NOT NULL, hash TEXT NOT NULL"),
    ("parts", "input BIGINT NOT NULL, content BIGINT NOT NULL, position BIGINT NOT NULL"),
    (
        "contents",
        "content BIGINT NOT NULL, encoding TEXT NOT NULL, bytes BYTEA NOT NULL",
    ),
];

/// Name, occasion and statement of each trigger.
const TRIGGERS: [(&str, &str, &str); 10] = [
    (
        "runs_insert",
        "INSERT ON runs FOR EACH ROW",
        "INSERT INTO audit.runs (at, run, task, kind, input, new_status, new_epoch, new_holder, new_expires, due,
                                 requested, ordered)
         VALUES (audit.now(), NEW.id, NEW.task_name, @KIND@, NEW.input_hash, NEW.status, NEW.epoch, NEW.holder,
                 NEW.expires_at, @DUE@, NEW.requested, FALSE)",
    ),
    (
        "runs_update",
        "UPDATE ON runs FOR EACH ROW",
        "INSERT INTO audit.runs (at, run, task, kind, input, old_status, new_status, old_epoch, new_epoch,
                                 old_holder, new_holder, old_expires, new_expires, due, requested, ordered)
         VALUES (audit.now(), NEW.id, NEW.task_name, @KIND@, NEW.input_hash, OLD.status, NEW.status, OLD.epoch,
                 NEW.epoch, OLD.holder, NEW.holder, OLD.expires_at, NEW.expires_at, @DUE@, NEW.requested,
                 OLD.cancel_requested_at IS NOT NULL)",
    ),
    (
        "tasks_insert",
        "INSERT ON tasks FOR EACH ROW",
        "INSERT INTO audit.switches (at, task, enabled) VALUES (audit.now(), NEW.name, NEW.enabled)",
    ),
    (
        "tasks_update",
        "UPDATE ON tasks FOR EACH ROW WHEN (NEW.enabled <> OLD.enabled)",
        "INSERT INTO audit.switches (at, task, enabled) VALUES (audit.now(), NEW.name, NEW.enabled)",
    ),
    (
        "tasks_delete",
        "DELETE ON tasks FOR EACH ROW",
        "INSERT INTO audit.switches (at, task) VALUES (audit.now(), OLD.name)",
    ),
    (
        "tasks_skip",
        "UPDATE ON tasks FOR EACH ROW WHEN (NEW.skipped <> OLD.skipped)",
        "INSERT INTO audit.skips (at, task) VALUES (audit.now(), NEW.name)",
    ),
    (
        "events",
        "INSERT ON events FOR EACH ROW",
        "INSERT INTO audit.events (task, run, id) VALUES (NEW.task_name, NEW.run_id, NEW.id)",
    ),
    (
        "inputs",
        "INSERT ON inputs FOR EACH ROW",
        "INSERT INTO audit.inputs (input, hash) VALUES (NEW.id, NEW.hash)",
    ),
    (
        "parts",
        "INSERT ON input_contents FOR EACH ROW",
        "INSERT INTO audit.parts (input, content, position) VALUES (NEW.input_id, NEW.content_id, NEW.position)",
    ),
    (
        "contents",
        "INSERT ON contents FOR EACH ROW",
        "INSERT INTO audit.contents (content, encoding, bytes) VALUES (NEW.id, NEW.encoding, NEW.content)",
    ),
];

/// Triggers of clusters: a single process has no election to judge, and a file has no timelines.
const CLUSTER_TRIGGERS: [(&str, &str, &str); 2] = [
    (
        "leadership",
        "UPDATE ON leadership FOR EACH ROW",
        "INSERT INTO audit.leadership (at, old_epoch, new_epoch, old_holder, new_holder, old_expires, new_expires)
         VALUES (audit.now(), OLD.epoch, NEW.epoch, OLD.holder, NEW.holder, OLD.expires_at, NEW.expires_at)",
    ),
    (
        "continuity",
        "UPDATE ON continuity FOR EACH ROW WHEN (OLD.settled IS NULL AND NEW.settled IS NOT NULL)",
        "INSERT INTO audit.settlements (at, trusted) VALUES (audit.now(), NEW.settled = 'trusted')",
    ),
];

/// Kind of the run of a trigger's row.
const KIND: &str = "CASE NEW.destroys WHEN 'apply' THEN 'destroy' WHEN 'plan' THEN 'destroy-plan' ELSE NEW.kind END";

/// When the run of a trigger's row is due, if the fleet has a brake. Another trigger puts off a run that the brake holds,
/// before or after this one. An earlier version has no such column.
const DUE_WITH_BRAKE: &str =
    "CASE WHEN NEW.braked AND NEW.status = 'queued' THEN 253370764800000000 ELSE NEW.due_at END";

/// The rows that are there before the first write.
const BEFORE: &str = "
INSERT INTO audit.switches (at, task, enabled) SELECT 0, name, enabled FROM tasks;
INSERT INTO audit.events (task, run, id) SELECT task_name, run_id, id FROM events ORDER BY position;
";

/// The kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Postgres,
    Sqlite,
}

impl Dialect {
    /// A statement that is written for Postgres.
    pub(super) fn adapt(self, statement: &str) -> String {
        match self {
            Self::Postgres => statement.to_owned(),
            Self::Sqlite => statement
                .replace(
                    "audit.now()",
                    "CAST(unixepoch('now', 'subsec') * 1000000 AS INTEGER)",
                )
                .replace("audit.", "audit_"),
        }
    }

    /// Statements that make the tables and the triggers.
    pub(super) fn installation(self, brake: bool) -> String {
        let due = if brake { DUE_WITH_BRAKE } else { "NEW.due_at" };
        let (number, of_cluster) = match self {
            Self::Postgres => ("BIGSERIAL PRIMARY KEY", &CLUSTER_TRIGGERS[..]),
            Self::Sqlite => ("INTEGER PRIMARY KEY AUTOINCREMENT", &[][..]),
        };
        let tables = TABLES.map(|(name, columns)| {
            format!("CREATE TABLE audit.{name} (seq {number}, {columns});\n")
        });
        let triggers = TRIGGERS.iter().chain(of_cluster);
        let triggers = triggers.map(|(name, occasion, statement)| {
            let begin = format!("CREATE TRIGGER audit_{name} AFTER {occasion}");
            match self {
                Self::Postgres => format!(
                    "CREATE FUNCTION audit.{name}() RETURNS trigger LANGUAGE plpgsql AS $$
                     BEGIN {statement}; RETURN NULL; END $$;
                     {begin} EXECUTE FUNCTION audit.{name}();\n"
                ),
                Self::Sqlite => format!("{begin} BEGIN {statement}; END;\n"),
            }
        });
        let text: String = tables.into_iter().chain(triggers).collect();
        let text = (text + BEFORE).replace("@KIND@", KIND);
        self.adapt(&text.replace("@DUE@", due))
    }
}
