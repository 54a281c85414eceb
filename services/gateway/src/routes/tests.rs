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
        ("GET", "/v1/cluster/configuration", Route::Configuration),
        ("GET", "/v1/queue", Route::Queue),
        ("GET", "/v1/tasks", Route::Tasks),
        ("GET", "/v1/tasks/lb", Route::Task(name())),
        ("POST", "/v1/tasks", Route::CreateTask),
        ("DELETE", "/v1/tasks/lb", Route::DeleteTask(name())),
        ("POST", "/v1/tasks/lb/release", Route::ReleaseTask(name())),
        ("GET", "/v1/tasks/lb/state", Route::TerraformState(name())),
        ("POST", "/v1/tasks/lb/state", Route::DecideState(name())),
        (
            "POST",
            "/v1/tasks/lb/destroy-plan",
            Route::PlanDestruction(name()),
        ),
        ("PATCH", "/v1/tasks/lb", Route::UpdateTask(name())),
        ("PUT", "/v1/tasks/lb", Route::ReplaceTask(name())),
        ("GET", "/v1/tasks/lb/explain", Route::ExplainTask(name())),
        ("GET", "/v1/runs", Route::Runs),
        ("GET", "/v1/runs/lb", Route::Run(name())),
        ("GET", "/v1/runs/lb/log", Route::RunLog(name())),
        ("POST", "/v1/runs/lb/cancel", Route::CancelRun(name())),
        ("GET", "/v1/runs/l%62", Route::Run(name())),
        ("GET", "/v1/events", Route::Events),
        ("GET", "/v1/openapi.json", Route::Document(Format::Json)),
        ("GET", "/v1/openapi.yaml", Route::Document(Format::Yaml)),
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
        "/v1/runs/",
        "/v1/runs//log",
        "/v1/runs/a/",
        "/v1/runs/a/logs",
        "/v1/runs/a/cancel/",
        "/v1/runs//cancel",
        "/v1/runs/a/log/",
        "/v1/runs/a%2Flog/x",
        "/v1/runsx",
        "/v1/events/",
        "/v1/openapi",
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
    assert_eq!(
        resolved("DELETE", "/v1/tasks/a%2Fb"),
        Route::DeleteTask("a/b".to_owned())
    );
    assert_eq!(
        resolved("GET", "/v1/tasks/a%2Fb/explain"),
        Route::ExplainTask("a/b".to_owned())
    );
    assert_eq!(resolved("GET", "/v1/tasks/explain"), task("explain"));
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
        ("PATCH", "/v1/tasks/lb/explain", "/v1/tasks/lb/explain"),
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
        "/v1/tasks//explain",
        "/v1/tasks/a/b/explain",
        "/v1/tasks/lb/explain/",
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
        ("PUT", "/v1/tasks/lb/explain"),
        ("HEAD", "/v1/tasks/lb/explain"),
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
        for path in [
            "/v1/queue",
            "/v1/runs",
            "/v1/runs/a",
            "/v1/runs/a/log",
            "/v1/events",
        ] {
            assert_eq!(resolved(method, path), expected, "{method} {path}");
        }
    }
    for path in ["/v1/health", "/v1/tasks", "/nowhere"] {
        for method in ["BREW", "PROPFIND", "get"] {
            let expected = Route::Refused(Refusal::UnknownMethod);
            assert_eq!(resolved(method, path), expected, "{method} {path}");
        }
        assert_eq!(resolved("OPTIONS", path), Route::Preflight);
    }
}
