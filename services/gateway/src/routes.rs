//! Which request is what (spec/api.md 2).
//!
//! A function of method and path instead of a router, since the reference compares paths as sent,
//! serves some of them twice and answers wrong methods in four ways. Of the two families of
//! endpoints the legacy one takes a name apart after decoding it, the new one before.

use http::Method;

use crate::percent::{Plus, decode};

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// Whether the service is healthy.
    Health,
    /// Counts of tasks.
    OverallStatus,
    /// The status of all tasks.
    TaskStatuses,
    /// The status of the task of this name.
    TaskStatus(String),
    /// The members of a cluster.
    ClusterStatus,
    /// How much work waits: an endpoint of ours.
    Queue,
    /// All tasks.
    Tasks,
    /// The task of this name.
    Task(String),
    /// Create a task.
    CreateTask,
    /// Delete a task.
    DeleteTask,
    /// Change a task.
    UpdateTask,
    /// `OPTIONS`, whatever the path.
    Preflight,
    /// None of these.
    Refused(Refusal),
}

/// Why a request is none of the API's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A method that the reference does not know.
    UnknownMethod,
    /// Nothing is there.
    UnknownPath,
    /// Health and the queue can only be asked for.
    OnlyGet,
    /// The legacy family knows only this other method here.
    Method { supported: Method },
    /// The legacy family finds more than one segment in the name; the decoded path.
    UnsupportedPath(String),
    /// An update of no task.
    NoTaskName,
}

const OVERALL_STATUS: &str = "/v1/status";
const TASK_STATUSES: &str = "/v1/status/tasks";
const CLUSTER_STATUS: &str = "/v1/status/cluster";
const TASKS: &str = "/v1/tasks";

/// Tells what `method` on `path` is; `path` as sent, its escapes known to be well formed.
pub(crate) fn resolve(method: &Method, path: &str) -> Route {
    if *method == Method::OPTIONS {
        return Route::Preflight;
    }
    if !is_known(method) {
        return Route::Refused(Refusal::UnknownMethod);
    }
    let only_get = match path {
        "/v1/health" => Some(Route::Health),
        "/v1/queue" => Some(Route::Queue),
        _ => None,
    };
    if let Some(route) = only_get {
        return match *method {
            Method::GET => route,
            _ => Route::Refused(Refusal::OnlyGet),
        };
    }
    if below(path, OVERALL_STATUS).is_some() {
        return match *method {
            Method::GET => status(path),
            _ => Route::Refused(Refusal::Method {
                supported: Method::GET,
            }),
        };
    }
    match below(path, TASKS) {
        Some(rest) => tasks(method, path, rest),
        None => Route::Refused(Refusal::UnknownPath),
    }
}

/// Whether `route`, to which `path` led, is a task or status endpoint, which a follower of the
/// reference does not serve (spec/ha.md 1.7). What these refuse belongs to them.
pub(crate) fn is_for_the_leader(route: &Route, path: &str) -> bool {
    match route {
        Route::OverallStatus
        | Route::TaskStatuses
        | Route::TaskStatus(_)
        | Route::Tasks
        | Route::Task(_)
        | Route::CreateTask
        | Route::DeleteTask
        | Route::UpdateTask => true,
        Route::Refused(
            Refusal::Method { .. } | Refusal::UnsupportedPath(_) | Refusal::NoTaskName,
        ) => path != CLUSTER_STATUS,
        Route::Health
        | Route::ClusterStatus
        | Route::Queue
        | Route::Preflight
        | Route::Refused(Refusal::UnknownMethod | Refusal::UnknownPath | Refusal::OnlyGet) => false,
    }
}

fn is_known(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET
            | Method::HEAD
            | Method::POST
            | Method::PUT
            | Method::PATCH
            | Method::DELETE
            | Method::OPTIONS
            | Method::CONNECT
            | Method::TRACE
    )
}

/// What follows `prefix` in `path`: nothing, or a slash and more.
fn below<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    path.strip_prefix(prefix)
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn status(path: &str) -> Route {
    if path == CLUSTER_STATUS {
        return Route::ClusterStatus;
    }
    let Some(rest) = below(path, TASK_STATUSES) else {
        return Route::OverallStatus;
    };
    match legacy_name(path, rest) {
        Ok(name) if name.is_empty() => Route::TaskStatuses,
        Ok(name) => Route::TaskStatus(name),
        Err(refusal) => Route::Refused(refusal),
    }
}

fn tasks(method: &Method, path: &str, rest: &str) -> Route {
    if *method == Method::PATCH {
        return match legacy_name(path, rest) {
            Ok(name) if name.is_empty() => Route::Refused(Refusal::NoTaskName),
            Ok(_name) => Route::UpdateTask,
            Err(refusal) => Route::Refused(refusal),
        };
    }
    let name = rest
        .strip_prefix('/')
        .filter(|name| !name.is_empty() && !name.contains('/'));
    match (method, name) {
        (&Method::GET, None) if rest.is_empty() => Route::Tasks,
        (&Method::POST, None) if rest.is_empty() => Route::CreateTask,
        (&Method::GET, Some(name)) => Route::Task(decoded(name)),
        (&Method::DELETE, Some(_)) => Route::DeleteTask,
        _ => Route::Refused(Refusal::Method {
            supported: Method::PATCH,
        }),
    }
}

/// The legacy family's name in `rest`, empty if there is none.
fn legacy_name(path: &str, rest: &str) -> Result<String, Refusal> {
    let name = decoded(rest.strip_prefix('/').unwrap_or_default());
    if name.contains('/') {
        return Err(Refusal::UnsupportedPath(decoded(path)));
    }
    Ok(name)
}

fn decoded(path: &str) -> String {
    decode(path, Plus::Itself).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(method: &str, path: &str) -> Route {
        resolve(&method.parse().unwrap(), path)
    }

    fn only(supported: Method) -> Route {
        Route::Refused(Refusal::Method { supported })
    }

    #[test]
    fn the_table_of_endpoints() {
        let name = || "lb".to_owned();
        let cases = [
            ("GET", "/v1/health", Route::Health),
            ("GET", "/v1/status", Route::OverallStatus),
            ("GET", "/v1/status/tasks", Route::TaskStatuses),
            ("GET", "/v1/status/tasks/lb", Route::TaskStatus(name())),
            ("GET", "/v1/status/cluster", Route::ClusterStatus),
            ("GET", "/v1/queue", Route::Queue),
            ("GET", "/v1/tasks", Route::Tasks),
            ("GET", "/v1/tasks/lb", Route::Task(name())),
            ("POST", "/v1/tasks", Route::CreateTask),
            ("DELETE", "/v1/tasks/lb", Route::DeleteTask),
            ("PATCH", "/v1/tasks/lb", Route::UpdateTask),
        ];
        for (method, path, expected) in cases {
            assert_eq!(resolved(method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn paths_are_compared_as_sent() {
        let unknown = [
            "/",
            "",
            "*",
            "//",
            "/v1",
            "/v1/",
            "/v2/tasks",
            "/v1/foo",
            "/v1/foo/tasks",
            "/v1/health/",
            "/v1/health/x",
            "/v1/queue/",
            "/v1/queuex",
            "/V1/tasks",
            "/v1/Tasks",
            "//v1/tasks",
            "/v1//tasks",
            "/v1/./tasks",
            "/v1/x/../tasks",
            "/v1/tasksx",
            "/v1/statusx",
            "/v1/%74asks",
        ];
        for path in unknown {
            for method in [
                "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "TRACE",
            ] {
                let expected = Route::Refused(Refusal::UnknownPath);
                assert_eq!(resolved(method, path), expected, "{method} {path}");
            }
        }
    }

    #[test]
    fn status_serves_what_it_does_not_know() {
        let overall = [
            "/v1/status/",
            "/v1/status/x",
            "/v1/status/x/y/",
            "/v1/status//tasks",
            "/v1/status/cluster/",
            "/v1/status/cluster/x",
            "/v1/status/tasksx",
            "/v1/status/%74asks",
            "/v1/status/tasks%2Flb",
        ];
        for path in overall {
            assert_eq!(resolved("GET", path), Route::OverallStatus, "{path}");
        }
        assert_eq!(resolved("GET", "/v1/status/tasks/"), Route::TaskStatuses);
    }

    #[test]
    fn encoded_names_and_slashes() {
        let task = |name: &str| Route::Task(name.to_owned());
        assert_eq!(resolved("GET", "/v1/tasks/a%2Fb"), task("a/b"));
        assert_eq!(resolved("GET", "/v1/tasks/%C3%A9+"), task("é+"));
        assert_eq!(resolved("DELETE", "/v1/tasks/a%2Fb"), Route::DeleteTask);
        assert_eq!(
            resolved("GET", "/v1/status/tasks/%C3%A9"),
            Route::TaskStatus("é".to_owned())
        );
        let legacy = [
            ("GET", "/v1/status/tasks/a%2Fb", "/v1/status/tasks/a/b"),
            ("GET", "/v1/status/tasks/a/b", "/v1/status/tasks/a/b"),
            ("GET", "/v1/status/tasks/lb/", "/v1/status/tasks/lb/"),
            ("GET", "/v1/status/tasks//", "/v1/status/tasks//"),
            ("PATCH", "/v1/tasks/a%2Fb", "/v1/tasks/a/b"),
            ("PATCH", "/v1/tasks/a/b", "/v1/tasks/a/b"),
            ("PATCH", "/v1/tasks/lb/", "/v1/tasks/lb/"),
        ];
        for (method, path, quoted) in legacy {
            let expected = Route::Refused(Refusal::UnsupportedPath(quoted.to_owned()));
            assert_eq!(resolved(method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn other_methods_are_refused_in_four_ways() {
        for path in [
            "/v1/status",
            "/v1/status/x",
            "/v1/status/tasks/a/b",
            "/v1/status/cluster",
        ] {
            for method in ["HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "TRACE"] {
                assert_eq!(resolved(method, path), only(Method::GET), "{method} {path}");
            }
        }
        for path in [
            "/v1/tasks/",
            "/v1/tasks/lb/",
            "/v1/tasks/a/b",
            "/v1/tasks//",
        ] {
            for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "TRACE"] {
                assert_eq!(
                    resolved(method, path),
                    only(Method::PATCH),
                    "{method} {path}"
                );
            }
        }
        for (method, path) in [
            ("PUT", "/v1/tasks"),
            ("DELETE", "/v1/tasks"),
            ("HEAD", "/v1/tasks"),
            ("PUT", "/v1/tasks/lb"),
            ("POST", "/v1/tasks/lb"),
            ("HEAD", "/v1/tasks/lb"),
        ] {
            assert_eq!(
                resolved(method, path),
                only(Method::PATCH),
                "{method} {path}"
            );
        }
        for path in ["/v1/tasks", "/v1/tasks/"] {
            assert_eq!(resolved("PATCH", path), Route::Refused(Refusal::NoTaskName));
        }
        for method in ["HEAD", "POST", "PATCH", "TRACE"] {
            let expected = Route::Refused(Refusal::OnlyGet);
            assert_eq!(resolved(method, "/v1/health"), expected, "{method}");
            assert_eq!(resolved(method, "/v1/queue"), expected, "{method}");
        }
        for path in ["/v1/health", "/v1/tasks", "/nowhere"] {
            for method in ["BREW", "PROPFIND", "get"] {
                let expected = Route::Refused(Refusal::UnknownMethod);
                assert_eq!(resolved(method, path), expected, "{method} {path}");
            }
            assert_eq!(resolved("OPTIONS", path), Route::Preflight);
        }
    }
}
