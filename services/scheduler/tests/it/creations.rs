//! Tasks that are created over the API (docs/rest.md#creating-a-task).

use std::collections::BTreeSet;
use std::time::Duration;

use cts_proto::run::v1::RunKind;
use cts_proto::task::v1::{RunMode, TaskOrigin, TaskPhase};
use cts_scheduler::Options;
use cts_testkit::assert_contains;
use tonic::Code;

use crate::calls::{
    SHORT, applied, checked, declared, disabled, failed, on_services, planned, refused,
};
use crate::setup::{Setup, instance, member, task};

const LONG: Duration = Duration::from_mins(1);

async fn empty() -> Setup {
    let setup = Setup::new(Vec::new(), LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup
}

#[tokio::test]
async fn a_task_is_checked_and_applied_at_its_next_change() {
    let setup = empty().await;
    let created = setup.created(declared("a")).await;
    assert_eq!(created.name, "a");
    assert_eq!(created.origin(), TaskOrigin::Api);
    assert_eq!(created.phase(), TaskPhase::Ready);
    assert_eq!(created.revision, 1);
    assert_eq!(setup.get("a").await, Some(created));
    setup.nothing_runs().await;

    setup.watcher.show(vec![instance("w", 2)]);
    let lease = setup.acquired().await;
    assert_eq!(
        (lease.kind(), lease.task_name.as_str()),
        (RunKind::Apply, "a")
    );
    assert_eq!(setup.input(&lease).await.services[0].port, 2);
    setup.applied(&lease).await;
}

#[tokio::test]
async fn run_mode_now_applies_once_before_the_answer() {
    let setup = empty().await;
    let (created, ()) = tokio::join!(
        setup.create(declared("a"), RunMode::Now),
        setup.does(RunKind::Apply, applied()),
    );
    assert_eq!(created.unwrap().plan, None);
    setup.nothing_runs().await;
    // The scheduler finds that the input is already applied.
    setup.watcher.restart();
    setup.nothing_runs().await;
}

#[tokio::test]
async fn an_inspection_answers_with_the_plan_and_leaves_nothing() {
    let setup = empty().await;
    for text in ["Plan: 1 to add", "Plan: 2 to add"] {
        let (inspected, ()) = tokio::join!(
            setup.create(declared("a"), RunMode::Inspect),
            setup.does(RunKind::Plan, planned(text)),
        );
        let inspected = inspected.unwrap();
        assert_eq!(inspected.plan.unwrap().text, text);
        assert_eq!(inspected.task.unwrap().name, "a");
        assert!(setup.names().await.is_empty());
    }
    setup.watcher.show(vec![instance("w", 2)]);
    setup.nothing_runs().await;
}

#[tokio::test]
async fn a_disabled_task_is_only_checked_and_needs_no_data() {
    let setup = Setup::new(Vec::new(), LONG).await;
    for (name, mode) in [("a", RunMode::Now), ("b", RunMode::Unspecified)] {
        let (created, ()) = tokio::join!(
            setup.create(disabled(name), mode),
            setup.does(RunKind::Check, checked()),
        );
        assert!(!created.unwrap().task.unwrap().enabled);
    }
    let (inspected, ()) = tokio::join!(
        setup.create(disabled("c"), RunMode::Inspect),
        setup.does(RunKind::Check, checked()),
    );
    assert_eq!(inspected.unwrap().plan, None);
    assert_eq!(setup.names().await, ["a", "b"]);
}

#[tokio::test]
async fn after_a_failure_there_is_no_task_and_its_name_is_free() {
    let setup = empty().await;
    for (mode, kind) in [
        (RunMode::Unspecified, RunKind::Check),
        (RunMode::Now, RunKind::Apply),
        (RunMode::Inspect, RunKind::Plan),
    ] {
        let (created, ()) = tokio::join!(
            setup.create(declared("a"), mode),
            setup.does(kind, failed("error tf-init: no such module")),
        );
        let refusal = created.unwrap_err();
        assert_eq!(refused(&refusal), (Code::FailedPrecondition, "run_failed"));
        assert!(refusal.message().contains("error tf-init"), "{refusal}");
        assert_eq!(setup.get("a").await, None);
    }
    setup.nothing_runs().await;
    setup.created(declared("a")).await;
}

#[tokio::test]
async fn refuses_invalid_tasks_after_names_in_use() {
    let setup = Setup::new(vec![task("used")], LONG).await;
    let mut bad = declared("used");
    bad.module = "refused".into();
    let refusal = setup.create(bad.clone(), RunMode::Now).await.unwrap_err();
    assert_eq!(refused(&refusal), (Code::AlreadyExists, "exists"));
    assert!(refusal.message().contains("already exists"));
    bad.name = "free".into();
    let refusal = setup.create(bad, RunMode::Now).await.unwrap_err();
    assert_eq!(refused(&refusal), (Code::InvalidArgument, "invalid"));
    assert_eq!(refusal.message(), "the module is refused");
}

#[tokio::test]
async fn first_of_several_creations_with_one_name_wins() {
    let setup = empty().await;
    let (first, second, ()) = tokio::join!(
        setup.create(declared("a"), RunMode::Unspecified),
        setup.create(declared("a"), RunMode::Unspecified),
        async {
            let lease = setup.acquired().await;
            setup.nothing_runs().await;
            setup.complete(&lease, checked()).await.unwrap();
        },
    );
    let refusal = match (first, second) {
        (Ok(_), Err(refusal)) | (Err(refusal), Ok(_)) => refusal,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&refusal), (Code::AlreadyExists, "exists"));
}

#[tokio::test]
async fn a_creation_behind_one_that_fails_goes_on() {
    let setup = empty().await;
    let (first, second, ()) = tokio::join!(
        setup.create(declared("a"), RunMode::Unspecified),
        setup.create(declared("a"), RunMode::Unspecified),
        async {
            setup.does(RunKind::Check, failed("no")).await;
            setup.does(RunKind::Check, checked()).await;
        },
    );
    assert!(first.is_ok() != second.is_ok());
    assert_eq!(setup.names().await, ["a"]);
}

#[tokio::test]
async fn data_that_stays_incomplete_is_waited_for_and_then_refused() {
    let options = Options {
        input_timeout: SHORT,
        ..Options::alone(Vec::new(), member())
    };
    let setup = Setup::with(options).await;
    setup.watcher.hide("db");
    setup.watcher.show(vec![instance("w", 1)]);
    let both = on_services("a", &["web", "db"]);
    let refusal = setup.create(both, RunMode::Now).await.unwrap_err();
    assert_eq!(
        refused(&refusal),
        (Code::FailedPrecondition, "not_initialized")
    );
    assert_contains(refusal.message(), ["health.service(db)"]);
    assert_eq!(setup.get("a").await, None);
    setup.created(declared("a")).await;
}

#[tokio::test]
async fn the_work_goes_on_when_the_caller_goes_away() {
    let setup = empty().await;
    let lease = tokio::select! {
        created = setup.create(declared("a"), RunMode::Now) => panic!("{created:?}"),
        lease = setup.acquired() => lease,
    };
    assert_eq!(setup.get("a").await, None);
    setup.applied(&lease).await;
    setup.until(async |setup| setup.get("a").await).await;
}

#[tokio::test]
async fn an_inspection_whose_caller_went_away_frees_its_name() {
    let setup = empty().await;
    let lease = tokio::select! {
        created = setup.create(declared("a"), RunMode::Inspect) => panic!("{created:?}"),
        lease = setup.acquired() => lease,
    };
    setup.complete(&lease, planned("Plan")).await.unwrap();
    let begun = tokio::time::Instant::now();
    setup.created(declared("a")).await;
    assert!(begun.elapsed() < Duration::from_secs(10));
}

/// No run ends before each has begun.
#[tokio::test]
async fn a_hundred_creations_do_not_wait_for_each_other() {
    let setup = empty().await;
    let names: BTreeSet<String> = (0..100).map(|number| format!("t{number:02}")).collect();
    let creations = names
        .iter()
        .map(|name| setup.create(declared(name), RunMode::Now));
    let (created, ()) = tokio::join!(futures::future::join_all(creations), async {
        let mut leases = Vec::new();
        for _ in 0..100 {
            leases.push(setup.acquired().await);
        }
        let begun: BTreeSet<String> = leases.iter().map(|lease| lease.task_name.clone()).collect();
        assert_eq!(begun, names);
        for lease in &leases {
            setup.applied(lease).await;
        }
    });
    for created in created {
        created.unwrap();
    }
    let listed: BTreeSet<String> = setup.names().await.into_iter().collect();
    assert_eq!(listed, names);
}
