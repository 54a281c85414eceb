//! The differences between the SQL texts of the databases.

use std::borrow::Cow;

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// A single writer, so rows are not locked. Lists are JSON, and the time is an argument.
    Sqlite,
    /// Several writers, which lock rows. The time is the database's.
    Postgres,
}

impl Dialect {
    /// Selects the text for this database, if no common text exists.
    pub const fn pick<T: Copy>(self, sqlite: T, postgres: T) -> T {
        match self {
            Self::Sqlite => sqlite,
            Self::Postgres => postgres,
        }
    }

    /// Replaces the words in braces:
    ///
    /// * `{now}`: the time in microseconds since 1970; SQLite gets it as an argument after `arguments` others;
    /// * `{in $1}`, `{not in $1}`: membership in a list;
    /// * `{rows $1 n: name TEXT, size BIGINT}`: a table `n` made of the objects of a JSON list;
    /// * `{each $1 n.id}`: a table `n` made of the values of a list;
    /// * `{list a by b}`: all values of `a` in the order of `b`, as JSON;
    /// * `{greatest}`: the function for the larger of two values;
    /// * `{last line of n.id}`: the position of the last line in the log of a run. Postgres reads it when the word is
    ///   evaluated, so that lines count that were appended during the wait for a lock;
    /// * `{result of r}`: the condition that a run succeeded or failed, as the index of such runs has it;
    /// * `{incarnation n.name}`: the number of a new task with this name.
    pub(crate) fn text(self, text: Cow<'static, str>, arguments: usize) -> Cow<'static, str> {
        if !text.contains('{') {
            return text;
        }
        let mut expanded = String::with_capacity(text.len() + 64);
        let mut rest = &*text;
        while let Some((before, after)) = rest.split_once('{') {
            expanded.push_str(before);
            let Some((word, after)) = after.split_once('}') else {
                expanded.push('{');
                rest = after;
                break;
            };
            let replacement = self.word(word, arguments);
            expanded.push_str(&replacement.unwrap_or_else(|| format!("{{{word}}}")));
            rest = after;
        }
        expanded.push_str(rest);
        Cow::Owned(expanded)
    }

    fn word(self, word: &str, arguments: usize) -> Option<String> {
        let (name, rest) = word.split_once(' ').unwrap_or((word, ""));
        Some(match (name, self) {
            ("now", Self::Sqlite) => format!("${}", arguments + 1),
            ("now", Self::Postgres) => "cts_now()".to_owned(),
            ("in", Self::Sqlite) => format!("IN (SELECT value FROM json_each({rest}))"),
            ("in", Self::Postgres) => format!("= ANY ({rest})"),
            ("not", _) => {
                let list = rest.strip_prefix("in ")?;
                match self {
                    Self::Sqlite => format!("NOT IN (SELECT value FROM json_each({list}))"),
                    Self::Postgres => format!("<> ALL ({list})"),
                }
            }
            ("rows", _) => self.rows(rest)?,
            ("each", _) => {
                let (list, column) = rest.split_once(' ')?;
                let (table, column) = column.split_once('.')?;
                match self {
                    Self::Sqlite => {
                        format!("(SELECT value AS {column} FROM json_each({list})) AS {table}")
                    }
                    Self::Postgres => format!("unnest({list}) AS {table} ({column})"),
                }
            }
            ("list", _) => {
                let (value, order) = rest.split_once(" by ")?;
                match self {
                    Self::Sqlite => format!("json_group_array({value} ORDER BY {order})"),
                    Self::Postgres => {
                        format!("coalesce(json_agg({value} ORDER BY {order}), '[]')::TEXT")
                    }
                }
            }
            ("greatest", _) => self.pick("max", "greatest").to_owned(),
            ("last", _) => {
                let run = rest.strip_prefix("line of ")?;
                match self {
                    Self::Sqlite => format!(
                        "(SELECT coalesce(max(position), 0) FROM log_lines WHERE run_id = {run})"
                    ),
                    Self::Postgres => format!("cts_last_line({run})"),
                }
            }
            ("result", _) => {
                let run = rest.strip_prefix("of ")?;
                match self {
                    Self::Sqlite => format!(
                        "{run}.status IN ('succeeded', 'failed', 'cancelled') AND ({run}.status = 'cancelled') = 0"
                    ),
                    Self::Postgres => format!("{run}.status IN ('succeeded', 'failed')"),
                }
            }
            ("incarnation", Self::Sqlite) => {
                format!(
                    "(SELECT coalesce(max(incarnation), 0) + 1 FROM runs WHERE task_name = {rest})"
                )
            }
            ("incarnation", Self::Postgres) => "nextval('task_incarnations')".to_owned(),
            _ => return None,
        })
    }

    fn rows(self, text: &str) -> Option<String> {
        let (table, columns) = text.split_once(": ")?;
        let (list, table) = table.split_once(' ')?;
        if self == Self::Postgres {
            return Some(format!(
                "json_to_recordset({list}::JSON) AS {table} ({columns})"
            ));
        }
        let names = columns
            .split(", ")
            .filter_map(|column| column.split_once(' '));
        let members = names.map(|(name, _type)| format!("value ->> '{name}' AS {name}"));
        let members = members.collect::<Vec<_>>().join(", ");
        Some(format!(
            "(SELECT {members} FROM json_each({list})) AS {table}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(dialect: Dialect, text: &'static str) -> String {
        dialect.text(text.into(), 2).into_owned()
    }

    #[test]
    fn each_database_gets_its_own_words() {
        let text = "UPDATE t SET at = {now}, n = {greatest}(n, 1), j = '{}' WHERE a {in $1} AND b {not in $2}";
        assert_eq!(
            expanded(Dialect::Postgres, text),
            "UPDATE t SET at = cts_now(), n = greatest(n, 1), j = '{}' WHERE a = ANY ($1) AND b <> ALL ($2)"
        );
        assert_eq!(
            expanded(Dialect::Sqlite, text),
            "UPDATE t SET at = $3, n = max(n, 1), j = '{}' \
             WHERE a IN (SELECT value FROM json_each($1)) AND b NOT IN (SELECT value FROM json_each($2))"
        );
    }

    #[test]
    fn a_list_of_objects_is_a_table() {
        let text = "SELECT {list n.name by n.size} FROM {rows $1 n: name TEXT, size BIGINT}";
        assert_eq!(
            expanded(Dialect::Postgres, text),
            "SELECT coalesce(json_agg(n.name ORDER BY n.size), '[]')::TEXT \
             FROM json_to_recordset($1::JSON) AS n (name TEXT, size BIGINT)"
        );
        assert_eq!(
            expanded(Dialect::Sqlite, text),
            "SELECT json_group_array(n.name ORDER BY n.size) \
             FROM (SELECT value ->> 'name' AS name, value ->> 'size' AS size FROM json_each($1)) AS n"
        );
    }

    #[test]
    fn a_list_of_values_is_a_table() {
        let text = "SELECT n.id, {last line of n.id} FROM {each $1 n.id}";
        assert_eq!(
            expanded(Dialect::Postgres, text),
            "SELECT n.id, cts_last_line(n.id) FROM unnest($1) AS n (id)"
        );
        assert_eq!(
            expanded(Dialect::Sqlite, text),
            "SELECT n.id, (SELECT coalesce(max(position), 0) FROM log_lines WHERE run_id = n.id) \
             FROM (SELECT value AS id FROM json_each($1)) AS n"
        );
    }

    #[test]
    fn a_run_with_a_result_is_found_by_the_index_of_its_database() {
        let text = "SELECT 1 FROM runs q WHERE {result of q}";
        assert_eq!(
            expanded(Dialect::Postgres, text),
            "SELECT 1 FROM runs q WHERE q.status IN ('succeeded', 'failed')"
        );
        assert_eq!(
            expanded(Dialect::Sqlite, text),
            "SELECT 1 FROM runs q \
             WHERE q.status IN ('succeeded', 'failed', 'cancelled') AND (q.status = 'cancelled') = 0"
        );
    }

    #[test]
    fn other_braces_stay() {
        for text in ["-- {\nSELECT '{' FROM t", "SELECT '{\"a\":{}}'", "{"] {
            for dialect in [Dialect::Sqlite, Dialect::Postgres] {
                assert_eq!(expanded(dialect, text), text);
            }
        }
    }
}
