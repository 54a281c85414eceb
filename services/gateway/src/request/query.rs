//! Query parameters (docs/rest.md#routes, #task-status).

use cts_core::TaskStatus;

use crate::original::percent::{Plus, decode};

/// The query of a task status request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatusQuery {
    /// Only tasks of this status.
    pub(crate) status: Option<TaskStatus>,
    /// Whether events are shown.
    pub(crate) include_events: bool,
}

/// A parameter has a value that it cannot have. The texts are answers to clients.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QueryError {
    #[error(
        "cannot support more than one {name}{} parameter, got {name} values: [{}]",
        kind_of(name),
        .values.join(" ")
    )]
    Repeated {
        name: &'static str,
        values: Vec<String>,
    },
    #[error(
        "unsupported status parameter value. got '{0}', must be one of {all}",
        all = all_statuses()
    )]
    Status(String),
    #[error(
        "unsupported ?include parameter value. only supporting 'include=events' but got 'include={0}'"
    )]
    Include(String),
    #[error("unsupported run parameter value. got '{0}', must be one of 'inspect', 'now'")]
    Run(String),
}

/// The original words the errors of its parameters differently.
fn kind_of(name: &str) -> &'static str {
    match name {
        "include" => "",
        _ => " query",
    }
}

fn all_statuses() -> String {
    TaskStatus::ALL
        .map(|status| format!("'{}'", status.as_str()))
        .join(", ")
}

impl StatusQuery {
    /// Reads `query` as sent, `status` before `include`.
    pub(crate) fn parse(query: Option<&str>) -> Result<Self, QueryError> {
        let pairs = pairs(query.unwrap_or_default());
        let status = match single(&pairs, "status")? {
            None => None,
            Some(text) => Some(
                TaskStatus::ALL
                    .into_iter()
                    .find(|status| status.as_str().eq_ignore_ascii_case(text))
                    .ok_or_else(|| QueryError::Status(text.to_owned()))?,
            ),
        };
        let include_events = match single(&pairs, "include")? {
            None => false,
            Some("events") => true,
            Some(other) => return Err(QueryError::Include(other.to_owned())),
        };
        Ok(Self {
            status,
            include_events,
        })
    }
}

/// The pairs of a query. A pair that contains `;` or does not decode counts as absent.
pub(crate) fn pairs(query: &str) -> Vec<(String, String)> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
        .filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(name, Plus::Blank)?, decode(value, Plus::Blank)?))
        })
        .collect()
}

/// The value of the parameter `name`, which may be given once.
pub(crate) fn single<'a>(
    pairs: &'a [(String, String)],
    name: &'static str,
) -> Result<Option<&'a str>, QueryError> {
    let values = pairs.iter().filter(|(key, _)| key == name);
    let values: Vec<_> = values.map(|(_, value)| value.as_str()).collect();
    match values[..] {
        [] => Ok(None),
        [value] => Ok(Some(value)),
        _ => Err(QueryError::Repeated {
            name,
            values: values.into_iter().map(str::to_owned).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_queries() {
        let none = StatusQuery {
            status: None,
            include_events: false,
        };
        let events = StatusQuery {
            include_events: true,
            ..none
        };
        let critical = StatusQuery {
            status: Some(TaskStatus::Critical),
            ..none
        };
        let cases = [
            (None, none),
            (Some(""), none),
            (Some("&&"), none),
            (Some("include=events"), events),
            (Some("%69nclude=ev%65nts"), events),
            (Some("status=CritiCAL"), critical),
            (Some("Status=x&INCLUDE=x&other"), none),
            (Some("status=%zz&include=%"), none),
            (Some("status=x;include=y"), none),
            (Some("include=events;&include=events"), events),
        ];
        for (query, expected) in cases {
            assert_eq!(StatusQuery::parse(query), Ok(expected), "{query:?}");
        }
    }

    #[test]
    fn refused_queries() {
        let repeated = |name, value: &str| QueryError::Repeated {
            name,
            values: vec![value.to_owned(); 2],
        };
        let cases = [
            ("status=bad", QueryError::Status("bad".into())),
            ("status", QueryError::Status(String::new())),
            ("status=a+b", QueryError::Status("a b".into())),
            (
                "status=unknown&status=unknown",
                repeated("status", "unknown"),
            ),
            ("include=Events", QueryError::Include("Events".into())),
            ("include=", QueryError::Include(String::new())),
            (
                "include=events&include=events",
                repeated("include", "events"),
            ),
            ("include=bad&status=bad", QueryError::Status("bad".into())),
        ];
        for (query, expected) in cases {
            assert_eq!(StatusQuery::parse(Some(query)), Err(expected), "{query}");
        }
    }

    #[test]
    fn the_answer_names_the_choices() {
        assert_eq!(
            QueryError::Status("x".into()).to_string(),
            "unsupported status parameter value. got 'x', must be one of \
             'successful', 'errored', 'critical', 'unknown'"
        );
    }
}
