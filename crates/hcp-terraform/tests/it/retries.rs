//! Requests that are repeated, and those that are not.

use std::sync::Arc;
use std::time::Duration;

use cts_hcp_terraform::{ApiError, Failure, Limits, NewRun, Server};
use cts_testkit::{ScriptedAnswer, ScriptedHttp};
use serde_json::{Value, json};
use tokio::time::Instant;
use wiremock::matchers::{method, path};
use wiremock::{Mock, ResponseTemplate};

use crate::{Recorder, discover, json_answer, mocked, report, run, scripted, services, settings};

fn fault() -> ScriptedAnswer {
    ScriptedAnswer::Json(502, json!({ "errors": [{ "title": "bad gateway" }] }))
}

fn cut() -> ScriptedAnswer {
    ScriptedAnswer::Cut(200, "application/json", r#"{"data":"#.to_owned())
}

fn planning() -> ScriptedAnswer {
    json_answer(json!({ "data": run("run-1", "planning", "m") }))
}

async fn create(server: &Server) -> Result<cts_hcp_terraform::Run, ApiError> {
    let run = NewRun {
        workspace_id: "ws-1",
        configuration_version_id: "cv-1",
        message: "m [uuid]",
        plan_only: false,
        is_destroy: false,
        variables: &[],
    };
    server.create_run(&run).await
}

#[tokio::test]
async fn a_read_is_repeated_after_faults_and_lost_answers() {
    let (http, server) = scripted([fault(), cut(), ScriptedAnswer::Close, planning()]).await;
    assert_eq!(server.run("run-1").await.unwrap().id, "run-1");
    assert_eq!(http.requests().len(), 5);
}

#[tokio::test]
async fn a_run_is_created_at_most_once() {
    let unreadable = json_answer(json!({ "data": { "id": 7 } }));
    for lost in [fault(), cut(), ScriptedAnswer::Close, unreadable] {
        let (http, server) = scripted([lost.clone(), planning()]).await;
        let error = create(&server).await.unwrap_err();
        assert!(
            matches!(error, ApiError::OutcomeUnknown { .. }),
            "{lost:?}: {error:?}"
        );
        assert!(!error.is_transient());
        assert!(report(&error).starts_with("the outcome is unknown: POST /api/v2/runs at "));
        assert_eq!(http.answers_left(), 1, "{lost:?}");
    }
}

#[tokio::test]
async fn actions_are_not_repeated_and_tags_are() {
    let done = ScriptedAnswer::Text(204, "text/plain", String::new());
    let (http, server) = scripted([fault(), fault(), done]).await;
    let error = server.cancel_run("run-1", "").await.unwrap_err();
    assert!(
        matches!(error, ApiError::OutcomeUnknown { .. }),
        "{error:?}"
    );
    server.add_tags("ws-1", &["source:cts"]).await.unwrap();
    assert_eq!(http.answers_left(), 0);
}

#[tokio::test]
async fn a_server_that_stays_away_is_given_up() {
    let mut settings = settings("127.0.0.1:1");
    settings.limits.retry_for = Duration::from_millis(100);
    let error = discover(&settings).await.unwrap_err();
    assert!(error.is_transient());
    let is_expected = matches!(
        error,
        ApiError::Unavailable {
            cause: Failure::Transport(_),
            ..
        }
    );
    assert!(is_expected, "{error:?}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_not_waited_for() {
    let script = [json_answer(services()), ScriptedAnswer::Hang];
    let http = ScriptedHttp::start(script).await;
    let mut settings = settings(http.address());
    settings.limits = Limits {
        timeout: Duration::from_millis(300),
        retry_for: Duration::ZERO,
        ..settings.limits
    };
    let server = discover(&settings).await.unwrap();
    let error = create(&server).await.unwrap_err();
    assert!(
        matches!(error, ApiError::OutcomeUnknown { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_limited_request_waits_for_the_time_that_the_server_names() {
    let budget = Arc::new(Recorder::default());
    let (http, server) = mocked(Arc::clone(&budget) as _).await;
    let limited = |reset: &str| {
        ResponseTemplate::new(429)
            .insert_header("X-RateLimit-Reset", reset)
            .insert_header("X-RateLimit-Limit", "30")
    };
    let created = json!({ "data": run("run-1", "pending", "m") });
    for (answer, times) in [
        (limited("0.25"), 2),
        (
            ResponseTemplate::new(429).insert_header("Retry-After", "0"),
            1,
        ),
        (
            ResponseTemplate::new(201).set_body_json::<Value>(created),
            1,
        ),
        (limited("3600.5"), 1),
    ] {
        Mock::given(method("POST"))
            .and(path("/api/v2/runs"))
            .respond_with(answer)
            .up_to_n_times(times)
            .mount(&http)
            .await;
    }
    let begun = Instant::now();
    assert_eq!(create(&server).await.unwrap().id, "run-1");
    // Twice 250 ms, and three times at least 100 ms more.
    assert!(
        begun.elapsed() >= Duration::from_millis(800),
        "{:?}",
        begun.elapsed()
    );
    let milliseconds = [250, 250, 0].map(Duration::from_millis);
    assert_eq!(*budget.pauses.lock(), milliseconds);
    assert_eq!(*budget.permits.lock(), 4);

    let error = create(&server).await.unwrap_err();
    assert!(error.is_transient());
    let ApiError::RateLimited { limit, pause, .. } = &error else {
        unreachable!("{error:?}");
    };
    assert_eq!(
        (*limit, *pause),
        (Some(30), Duration::from_millis(3_600_500))
    );
    assert!(report(&error).contains("(30 a second)"), "{error}");
}
