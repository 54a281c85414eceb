//! Query parameters of the cts-only endpoints, which are read strictly.

mod log_query;

use std::time::Duration;

use cts_core::callers::FollowKey;
use cts_core::go::parse_duration;
use cts_core::runs::RunStatus;
use cts_core::{CauseId, CurrentState, RequestKey};
use cts_proto::run::v1::ListCausesRequest;
use cts_proto::task::v1::ListTaskPageRequest;
use cts_proto::task::v1::TaskOrder::{Since, State, Unspecified};
use cts_rpc::convert::current_state_to_wire;

pub(crate) use self::log_query::{LogFormat, LogPart, log};
use crate::request::query::{pairs, single};
use crate::request::run_mode::RunMode;

/// Entries in one answer, if the client names no number.
const DEFAULT_LIMIT: u32 = 100;

/// Most entries in one answer.
const MOST_ENTRIES: u32 = 1000;

/// A parameter has a value that it cannot have. The text is an answer to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("parameter \"{name}\" in query has an error: value must be {expected}, given at most once")]
pub(crate) struct ParameterError {
    name: &'static str,
    expected: &'static str,
}

/// The query of the list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunsQuery {
    /// Only runs of this task; empty for runs of all tasks.
    pub(crate) task: String,
    pub(crate) status: Option<RunStatus>,
    /// Only runs that wait for the consent of a person.
    pub(crate) waits: bool,
    /// Only runs that this cause led to; empty for all.
    pub(crate) cause: String,
    /// Most runs of one page.
    pub(crate) limit: u32,
    /// The end of the page before this one; empty for the first page.
    pub(crate) after: String,
}

/// The query of the audit records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AuditQuery {
    /// Most records of one page.
    pub(crate) limit: u32,
    /// Only records with a smaller number; 0 begins with the newest.
    pub(crate) before: u64,
}

/// The query of the list of runs.
pub(crate) fn runs(query: Option<&str>) -> Result<RunsQuery, ParameterError> {
    let pairs = pairs(query.unwrap_or_default());
    let status = choice(
        &pairs,
        "status",
        "queued, running, succeeded, failed or cancelled",
        &RunStatus::ALL.map(|status| (status.as_str(), status)),
    )?;
    let waits = read(&pairs, "state", "waiting, without a status", |text| {
        (text == "waiting" && status.is_none()).then_some(())
    })?;
    Ok(RunsQuery {
        task: task(&pairs)?,
        status,
        waits: waits.is_some(),
        cause: cause(&pairs, "cause")?,
        limit: limit(&pairs)?,
        after: non_empty(&pairs, "after", "that of a list")?,
    })
}

/// The query of the list of causes. Each may have thousands of tasks, so a scheduler sends fewer than other entries.
pub(crate) fn causes(query: Option<&str>) -> Result<ListCausesRequest, ParameterError> {
    let pairs = pairs(query.unwrap_or_default());
    let limit = read(&pairs, "limit", "a number from 1 to 100", |text| {
        plain_number(text).filter(|limit| (1..=100).contains(limit))
    })?;
    Ok(ListCausesRequest {
        page_size: limit.unwrap_or_default(),
        page_token: cause(&pairs, "from")?,
        visible_tasks: Vec::new(),
    })
}

fn cause(pairs: &[(String, String)], name: &'static str) -> Result<String, ParameterError> {
    let id = |text: &str| Some(text.parse::<CauseId>().ok()?.to_string());
    Ok(read(pairs, name, "the id of a cause", id)?.unwrap_or_default())
}

/// The query of the audit records.
pub(crate) fn audit(query: Option<&str>) -> Result<AuditQuery, ParameterError> {
    let pairs = pairs(query.unwrap_or_default());
    let before = read(&pairs, "before", "the number of a record", |text| {
        plain_number(text).filter(|number| *number > 0)
    })?;
    Ok(AuditQuery {
        limit: limit(&pairs)?,
        before: before.unwrap_or(0),
    })
}

/// The query of the states of tasks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StatesQuery {
    All,
    Page(ListTaskPageRequest),
    /// One character for each state.
    Grid,
}

/// The query of the states of tasks.
pub(crate) fn states(query: Option<&str>) -> Result<StatesQuery, ParameterError> {
    let pairs = pairs(query.unwrap_or_default());
    let search = read(&pairs, "search", "a text", |text| Some(text.to_owned()))?;
    let states = read(&pairs, "state", "states, with commas between", |text| {
        let named = |word: &str| CurrentState::ALL.into_iter().find(|it| it.as_str() == word);
        let states = text.split(',').map(named);
        let states = states.map(|state| Some(i32::from(current_state_to_wire(state?))));
        states.collect::<Option<Vec<i32>>>()
    })?;
    let orders = [("name", Unspecified), ("state", State), ("since", Since)];
    let order = choice(&pairs, "sort", "name, state or since", &orders)?;
    let page = read(&pairs, "page", "a number from 1", |text| {
        plain_number(text).filter(|page| *page > 0)
    })?;
    let is_page = search.is_some() || states.is_some() || order.is_some() || page.is_some();
    let expected = "grid, without search, state, sort and page";
    let grid = read(&pairs, "form", expected, |text| {
        (text == "grid" && !is_page).then_some(StatesQuery::Grid)
    })?;
    let page = is_page.then(|| {
        StatesQuery::Page(ListTaskPageRequest {
            search: search.unwrap_or_default(),
            states: states.unwrap_or_default(),
            order: order.unwrap_or_default().into(),
            page: page.unwrap_or(1),
            visible_tasks: Vec::new(),
        })
    });
    Ok(grid.or(page).unwrap_or(StatesQuery::All))
}

/// The query of the times of changes: how far back.
pub(crate) fn times(query: Option<&str>) -> Result<Duration, ParameterError> {
    let pairs = pairs(query.unwrap_or_default());
    let since = read(&pairs, "since", "a time from 1m to 192h", |text| {
        let since = Duration::from_nanos(parse_duration(text).ok()?.try_into().ok()?);
        (60..=192 * 3600)
            .contains(&since.as_secs())
            .then_some(since)
    })?;
    Ok(since.unwrap_or(Duration::from_hours(24)))
}

/// The query of the events: the task whose runs are followed, or nothing for all.
pub(crate) fn events(query: Option<&str>) -> Result<String, ParameterError> {
    task(&pairs(query.unwrap_or_default()))
}

/// The query of versions to follow: the keys, separated by commas.
pub(crate) fn follow(query: Option<&str>) -> Result<Vec<FollowKey>, ParameterError> {
    let (name, expected) = ("keys", "1 to 64 known keys with commas");
    let pairs = pairs(query.unwrap_or_default());
    let keys = read(&pairs, name, expected, |text| {
        FollowKey::list(text.split(','))
    })?;
    keys.ok_or(ParameterError { name, expected })
}

/// The query of the list of effects: patterns of tasks.
pub(crate) fn tasks(query: Option<&str>) -> Vec<String> {
    let pairs = pairs(query.unwrap_or_default()).into_iter();
    let tasks = pairs.filter(|(name, _)| name == "task");
    tasks.map(|(_, pattern)| pattern).collect()
}

/// The query of a deletion: whether the infrastructure stays, regardless of the task's declaration.
pub(crate) fn deletion_retains(query: Option<&str>) -> Result<bool, ParameterError> {
    let pairs = pairs(query.unwrap_or_default());
    let retains = choice(&pairs, "on_delete", "retain", &[("retain", true)])?;
    Ok(retains.unwrap_or(false))
}

/// Whether the run of a replacement ignores the guards of its task.
pub(crate) fn replacement_releases(query: Option<&str>) -> Result<bool, ParameterError> {
    let pairs = pairs(query.unwrap_or_default());
    let releases = choice(&pairs, "release", "true", &[("true", true)])?;
    Ok(releases.unwrap_or(false))
}

/// The mode of a change with the parameter `wait`: only an answer to `run=now` need not wait.
pub(crate) fn waiting_mode(query: Option<&str>, mode: RunMode) -> Result<RunMode, ParameterError> {
    let pairs = pairs(query.unwrap_or_default());
    let expected = "true, or false with run=now and the method PATCH or PUT";
    let wait = read(&pairs, "wait", expected, |text| match (text, mode) {
        ("true", _) => Some(mode),
        ("false", RunMode::Now) => Some(RunMode::Request),
        _ => None,
    });
    Ok(wait?.unwrap_or(mode))
}

/// Key of the request of a run; `None` without one. Changes that take no key (`is_taken`) refuse it.
pub(crate) fn request_key(
    query: Option<&str>,
    is_taken: bool,
) -> Result<Option<RequestKey>, ParameterError> {
    let pairs = pairs(query.unwrap_or_default());
    let expected = "a UUID of version 4 or 7, for the method PATCH and for plans of destructions";
    read(&pairs, "idempotency_key", expected, |text| {
        text.parse().ok().filter(|_key| is_taken)
    })
}

/// Additions to a run that a caller wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RunIncludes {
    /// The reasons for which the run was made.
    pub(crate) cause: bool,
    /// The records of its attempts.
    pub(crate) attempts: bool,
}

/// The query of a run: the wanted additions, separated by commas.
pub(crate) fn run_includes(query: Option<&str>) -> Result<RunIncludes, ParameterError> {
    let pairs = pairs(query.unwrap_or_default());
    let includes = read(
        &pairs,
        "include",
        "cause, attempts, or both with a comma",
        |text| {
            let mut includes = RunIncludes::default();
            for word in text.split(',') {
                let wanted = match word {
                    "cause" => &mut includes.cause,
                    "attempts" => &mut includes.attempts,
                    _ => return None,
                };
                if std::mem::replace(wanted, true) {
                    return None;
                }
            }
            Some(includes)
        },
    )?;
    Ok(includes.unwrap_or_default())
}

/// Most entries of a page.
fn limit(pairs: &[(String, String)]) -> Result<u32, ParameterError> {
    let limit = read(pairs, "limit", "a number from 1 to 1000", |text| {
        plain_number(text).filter(|limit| (1..=MOST_ENTRIES).contains(limit))
    })?;
    Ok(limit.unwrap_or(DEFAULT_LIMIT))
}

/// Rejects the sign that `parse` would accept.
fn plain_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

fn task(pairs: &[(String, String)]) -> Result<String, ParameterError> {
    non_empty(pairs, "task", "the name of a task")
}

fn non_empty(
    pairs: &[(String, String)],
    name: &'static str,
    expected: &'static str,
) -> Result<String, ParameterError> {
    let text = read(pairs, name, expected, |text| {
        (!text.is_empty()).then(|| text.to_owned())
    })?;
    Ok(text.unwrap_or_default())
}

fn choice<T: Copy>(
    pairs: &[(String, String)],
    name: &'static str,
    expected: &'static str,
    choices: &[(&str, T)],
) -> Result<Option<T>, ParameterError> {
    read(pairs, name, expected, |text| {
        let found = choices.iter().find(|(choice, _)| *choice == text);
        found.map(|(_, value)| *value)
    })
}

fn read<T>(
    pairs: &[(String, String)],
    name: &'static str,
    expected: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, ParameterError> {
    let error = ParameterError { name, expected };
    match single(pairs, name) {
        Ok(None) => Ok(None),
        Ok(Some(text)) => parse(text).map(Some).ok_or(error),
        Err(_repeated) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_asked_for_by_task_status_and_page() {
        let all = RunsQuery {
            task: String::new(),
            status: None,
            waits: false,
            cause: String::new(),
            limit: 100,
            after: String::new(),
        };
        let some = RunsQuery {
            task: "a b".to_owned(),
            status: Some(RunStatus::Failed),
            waits: false,
            cause: String::new(),
            limit: 1000,
            after: "x".to_owned(),
        };
        let waiting = RunsQuery {
            waits: true,
            ..all.clone()
        };
        let id = "0197a000-0000-7000-8000-000000000001";
        let of_cause = RunsQuery {
            cause: id.to_owned(),
            ..all.clone()
        };
        let by_cause = format!("cause={id}");
        let cases = [
            (None, all.clone()),
            (Some("state=waiting"), waiting),
            (Some(&*by_cause), of_cause),
            (Some("other=1&Task=a"), all),
            (Some("task=a+b&status=failed&limit=1000&after=x"), some),
        ];
        for (query, expected) in cases {
            assert_eq!(runs(query), Ok(expected), "{query:?}");
        }
    }

    #[test]
    fn audit_records_are_asked_for_by_page() {
        let query = |limit, before| Ok(AuditQuery { limit, before });
        assert_eq!(audit(None), query(100, 0));
        assert_eq!(audit(Some("limit=7&before=19")), query(7, 19));
        for wrong in ["limit=0", "limit=1001", "before=0", "before=-1", "before="] {
            let error = audit(Some(wrong)).unwrap_err();
            assert!(wrong.starts_with(error.name), "{wrong} {error}");
        }
    }

    #[test]
    fn causes_are_asked_for_by_page() {
        let id = "0197a000-0000-7000-8000-000000000001";
        assert_eq!(causes(None), Ok(ListCausesRequest::default()));
        let page = ListCausesRequest {
            page_size: 100,
            page_token: id.to_owned(),
            ..ListCausesRequest::default()
        };
        assert_eq!(causes(Some(&format!("limit=100&from={id}"))), Ok(page));
        for wrong in ["limit=101", "limit=0", "from=x", "from="] {
            let error = causes(Some(wrong)).unwrap_err();
            assert!(wrong.starts_with(error.name), "{wrong} {error}");
        }
    }

    #[test]
    fn the_cause_and_the_attempts_of_a_run_are_asked_for() {
        let includes = |cause, attempts| Ok(RunIncludes { cause, attempts });
        assert_eq!(run_includes(None), includes(false, false));
        assert_eq!(run_includes(Some("include=cause")), includes(true, false));
        for query in ["include=cause,attempts", "include=attempts%2Ccause"] {
            assert_eq!(run_includes(Some(query)), includes(true, true), "{query}");
        }
        for query in [
            "include=",
            "include=events",
            "include=cause,",
            "include=cause,cause",
            "include=cause&include=attempts",
        ] {
            assert!(run_includes(Some(query)).is_err(), "{query}");
        }
    }

    #[test]
    fn times_are_asked_for_by_their_age() {
        let hours = Duration::from_hours;
        assert_eq!(times(None), Ok(hours(24)));
        for (query, since) in [
            ("since=1m", Duration::from_mins(1)),
            ("since=1h30m", Duration::from_mins(90)),
            ("since=192h", hours(192)),
        ] {
            assert_eq!(times(Some(query)), Ok(since), "{query}");
        }
        for wrong in [
            "since=",
            "since=24",
            "since=59s",
            "since=193h",
            "since=-1h",
            "since=8d",
            "since=1h&since=2h",
        ] {
            assert!(times(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn effects_are_asked_for_by_patterns() {
        assert_eq!(tasks(None), [""; 0]);
        assert_eq!(
            tasks(Some("task=edge-*&other=1&task=%7Ba,b%7D")),
            ["edge-*", "{a,b}"]
        );
    }

    #[test]
    fn keys_to_follow_are_named_once() {
        let expected = [
            FollowKey::Overview,
            FollowKey::Task("a".parse().unwrap()),
            FollowKey::Grid(7),
        ];
        let keys = follow(Some("keys=overview,task:a,grid%3A7"));
        assert_eq!(keys.unwrap(), expected);
        let groups: Vec<_> = (0..65).map(|group| format!("grid:{group}")).collect();
        let most = format!("keys={}", groups[..64].join(","));
        assert_eq!(follow(Some(&most)).unwrap().len(), 64);
        let too_many = format!("keys={}", groups.join(","));
        for wrong in [
            None,
            Some(""),
            Some("keys="),
            Some("keys=tasks,"),
            Some("keys=events"),
            Some("keys=tasks&keys=overview"),
            Some(too_many.as_str()),
        ] {
            assert_eq!(follow(wrong).unwrap_err().name, "keys", "{wrong:?}");
        }
    }

    #[test]
    fn states_are_asked_for_whole_by_page_and_as_a_grid() {
        let first = ListTaskPageRequest {
            page: 1,
            ..ListTaskPageRequest::default()
        };
        let page = |page: ListTaskPageRequest| Ok(StatesQuery::Page(page));
        for query in [None, Some(""), Some("other=1&Page=2")] {
            assert_eq!(states(query), Ok(StatesQuery::All), "{query:?}");
        }
        for query in ["page=1", "search=", "sort=name"] {
            assert_eq!(states(Some(query)), page(first.clone()), "{query}");
        }
        let by_state = ListTaskPageRequest {
            search: "a b".to_owned(),
            order: State.into(),
            ..first
        };
        assert_eq!(states(Some("sort=state&search=a+b")), page(by_state));
        assert_eq!(states(Some("form=grid")), Ok(StatesQuery::Grid));
        for state in CurrentState::ALL {
            let query = format!("state={}", state.as_str());
            let Ok(StatesQuery::Page(page)) = states(Some(&query)) else {
                panic!("{query}");
            };
            assert_eq!(page.states, [i32::from(current_state_to_wire(state))]);
        }
    }

    #[test]
    fn only_an_apply_need_not_be_waited_for() {
        let modes = [RunMode::Later, RunMode::Now, RunMode::Inspect];
        for mode in modes {
            for query in [None, Some("other=1"), Some("wait=true")] {
                assert_eq!(waiting_mode(query, mode), Ok(mode), "{query:?}");
            }
            for query in ["wait", "wait=", "wait=False", "wait=false&wait=false"] {
                let error = waiting_mode(Some(query), mode).unwrap_err();
                assert_eq!(error.name, "wait", "{query}");
            }
        }
        let modes = modes.map(|mode| waiting_mode(Some("run=x&wait=false"), mode).ok());
        assert_eq!(modes, [None, Some(RunMode::Request), None]);
    }

    #[test]
    fn a_key_is_a_random_uuid_where_it_is_taken() {
        let key = "01a22daf-6aa5-7201-a13a-d57732635ac3";
        let query = format!("run=now&idempotency_key={key}");
        assert_eq!(request_key(Some(&query), true), Ok(key.parse().ok()));
        assert_eq!(request_key(Some("run=now"), false), Ok(None));
        assert!(request_key(Some(&query), false).is_err());
        let twice = format!("{key}&idempotency_key={key}");
        let nil = "00000000-0000-0000-0000-000000000000";
        for wrong in ["", "x", nil, &*twice] {
            let query = format!("idempotency_key={wrong}");
            let error = request_key(Some(&query), true).unwrap_err();
            assert_eq!(error.name, "idempotency_key", "{wrong}");
        }
    }

    #[test]
    fn a_deletion_can_retain() {
        assert_eq!(deletion_retains(None), Ok(false));
        assert_eq!(deletion_retains(Some("run=now&other")), Ok(false));
        assert_eq!(deletion_retains(Some("on_delete=retain")), Ok(true));
        for query in [
            "on_delete",
            "on_delete=",
            "on_delete=destroy",
            "on_delete=Retain",
            "on_delete=retain&on_delete=retain",
        ] {
            assert!(deletion_retains(Some(query)).is_err(), "{query}");
        }
    }

    #[test]
    fn other_values_are_refused() {
        let of_runs = [
            "task=",
            "task=a&task=b",
            "status=Failed",
            "status=",
            "state=queued",
            "state=waiting&status=queued",
            "limit=0",
            "limit=1001",
            "limit=+1",
            "limit=",
            "limit=x",
            "after=",
            "cause=1",
            "cause=",
        ];
        for query in of_runs {
            let error = runs(Some(query)).unwrap_err();
            assert!(query.starts_with(error.name), "{query} {error}");
        }
        assert!(events(Some("task=a&task=a")).is_err());
        assert_eq!(
            runs(Some("limit=x")).unwrap_err().to_string(),
            "parameter \"limit\" in query has an error: value must be a number from 1 to 1000, \
             given at most once"
        );
    }
}
