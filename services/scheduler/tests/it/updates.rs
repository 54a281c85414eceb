//! Tasks that are switched, run, replaced and deleted over the API (docs/rest.md#deleting-a-task,
//! #updating-a-task, #while-a-task-runs).

use std::sync::Arc;
use std::time::Duration;

use cts_proto::run::v1::RunKind;
use cts_proto::run::v1::{ListRunsRequest, RunStatus};
use cts_proto::task::v1::{RunMode, TaskOrigin, TaskPhase};
use cts_scheduler::Options;
use cts_store::Store as _;
use cts_testkit::assert_contains;
use tonic::Code;

use crate::calls::{applied, checked, declared, disabled, failed, planned, refused};
use crate::setup::{Setup, instance, member, store_in, task};

const LONG: Duration = Duration::from_mins(1);

/// A scheduler with the configured task "t", which is applied.
async fn applied_once() -> Setup {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup.does(RunKind::Apply, applied()).await;
    setup
}

/// A scheduler with the configured task "t", which is applied and then disabled.
async fn switched_off() -> Setup {
    let setup = Box::pin(applied_once()).await;
    let update = setup.update("t", Some(false), RunMode::Unspecified).await;
    assert!(!update.unwrap().task.unwrap().enabled);
    setup.leader_has_looked("t").await;
    setup
}

#[tokio::test]
async fn disabled_task_reacts_to_nothing() {
    let setup = switched_off().await;
    setup.watcher.show(vec![instance("w", 2)]);
    setup.nothing_runs().await;
    for mode in [RunMode::Now, RunMode::Inspect, RunMode::Unspecified] {
        let update = setup.update("t", Some(false), mode).await.unwrap();
        assert_eq!(update.plan, None, "{mode:?}");
    }
    setup.nothing_runs().await;
}

#[tokio::test]
async fn switching_on_checks_and_the_next_change_applies() {
    let setup = switched_off().await;
    setup.watcher.show(vec![instance("w", 2)]);
    let (update, ()) = tokio::join!(
        setup.update("t", Some(true), RunMode::Unspecified),
        setup.does(RunKind::Check, checked()),
    );
    assert!(update.unwrap().task.unwrap().enabled);
    setup.nothing_runs().await;
    setup.watcher.show(vec![instance("w", 3)]);
    setup.does(RunKind::Apply, applied()).await;
}

#[tokio::test]
async fn a_failed_check_leaves_it_switched_on() {
    let setup = switched_off().await;
    let (update, ()) = tokio::join!(
        setup.update("t", Some(true), RunMode::Unspecified),
        setup.does(RunKind::Check, failed("error tf-init")),
    );
    let refusal = update.unwrap_err();
    assert_eq!(refused(&refusal), (Code::FailedPrecondition, "run_failed"));
    assert!(setup.get("t").await.unwrap().enabled);
}

#[tokio::test]
async fn run_mode_now_applies_the_newest_data_once() {
    let setup = switched_off().await;
    setup.watcher.show(vec![instance("w", 2)]);
    // The leader has seen the change when a plan has it.
    let mut port = 1;
    while port != 2 {
        let (update, seen) = tokio::join!(setup.update("t", Some(true), RunMode::Inspect), async {
            let lease = setup.acquired().await;
            let seen = setup.input(&lease).await.services[0].port;
            setup.complete(&lease, planned("Plan")).await.unwrap();
            seen
        });
        update.unwrap();
        port = seen;
    }
    for enabled in [Some(true), None] {
        let (update, ()) = tokio::join!(setup.update("t", enabled, RunMode::Now), async {
            let lease = setup.acquired().await;
            assert_eq!(lease.kind(), RunKind::Apply);
            assert_eq!(setup.input(&lease).await.services[0].port, 2);
            setup
                .complete(&lease, failed("error tf-apply"))
                .await
                .unwrap();
        });
        let refusal = update.unwrap_err();
        assert!(refusal.message().contains("error tf-apply"), "{refusal}");
        setup.nothing_runs().await;
    }
}

#[tokio::test]
async fn an_inspection_leaves_the_flag_as_it_is() {
    let setup = switched_off().await;
    let inspect = async |wanted| {
        let (update, ()) = tokio::join!(
            setup.update("t", Some(true), RunMode::Inspect),
            setup.does(RunKind::Plan, planned("Plan")),
        );
        let update = update.unwrap();
        assert_eq!(update.plan.unwrap().text, "Plan");
        assert_eq!(update.task.unwrap().enabled, wanted);
    };
    inspect(false).await;
    let (update, ()) = tokio::join!(
        setup.update("t", Some(true), RunMode::Unspecified),
        setup.does(RunKind::Check, checked()),
    );
    update.unwrap();
    inspect(true).await;
}

#[tokio::test]
async fn an_active_task_cannot_be_changed_but_deleted() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    for (enabled, mode) in [
        (Some(false), RunMode::Unspecified),
        (Some(true), RunMode::Now),
        (Some(false), RunMode::Inspect),
    ] {
        let refusal = setup.update("t", enabled, mode).await.unwrap_err();
        assert_eq!(refused(&refusal), (Code::FailedPrecondition, "busy"));
        let message = refusal.message();
        assert_contains(&message, ["is active and cannot be updated"]);
    }
    setup.delete("t").await.unwrap();
    setup.delete("t").await.unwrap();
    assert_eq!(setup.get("t").await.unwrap().phase(), TaskPhase::Deleting);
    let refusal = setup.update("t", None, RunMode::Now).await.unwrap_err();
    assert_eq!(refused(&refusal), (Code::FailedPrecondition, "deleting"));
    let refusal = setup.create(declared("t"), RunMode::Now).await.unwrap_err();
    assert_eq!(refused(&refusal), (Code::AlreadyExists, "exists"));
    setup.watcher.show(vec![instance("w", 2)]);
    setup.nothing_runs().await;
    setup.complete(&lease, applied()).await.unwrap();
    setup.gone("t").await;
    let refusal = setup.delete("t").await.unwrap_err();
    assert_eq!(refused(&refusal), (Code::NotFound, "unknown"));
    setup.nothing_runs().await;
    setup.created(declared("t")).await;
}

#[tokio::test]
async fn a_deleted_task_of_the_configuration_stays_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let configured = || Options::alone(vec![task("t"), task("u")], member());
    let setup = Setup::over(Arc::clone(&store), configured()).await;
    setup.delete("t").await.unwrap();
    setup.gone("t").await;
    let update = setup.update("u", Some(false), RunMode::Unspecified).await;
    update.unwrap();
    setup.created(disabled("made")).await;
    drop(setup);

    let setup = Setup::over(Arc::clone(&store), configured()).await;
    assert_eq!(setup.names().await, ["u", "made"]);
    assert!(!setup.get("u").await.unwrap().enabled);
    assert_eq!(setup.get("made").await.unwrap().origin(), TaskOrigin::Api);
    drop(setup);

    let reset = Options {
        reset_storage: true,
        ..configured()
    };
    let setup = Setup::over(store, reset).await;
    assert_eq!(setup.names().await, ["t", "u"]);
    assert!(setup.get("u").await.unwrap().enabled);
}

#[tokio::test]
async fn a_replacement_counts_from_the_next_change_on() {
    let setup = applied_once().await;
    setup.leader_has_looked("t").await;
    let mut other = declared("t");
    other.description = "another".into();
    let revision = setup.get("t").await.unwrap().revision;
    let refusal = setup
        .replace("t", other.clone(), revision + 1, RunMode::Unspecified)
        .await
        .unwrap_err();
    assert_eq!(refused(&refusal), (Code::Aborted, "revision"));
    let (replaced, ()) = tokio::join!(
        setup.replace("t", other, revision, RunMode::Unspecified),
        setup.does(RunKind::Check, checked()),
    );
    let replaced = replaced.unwrap().task.unwrap();
    assert_eq!(replaced.description, "another");
    assert_eq!(replaced.revision, revision + 1);
    setup.nothing_runs().await;
    setup.watcher.show(vec![instance("w", 2)]);
    let lease = setup.acquired().await;
    let definition = setup.input(&lease).await.definition;
    assert_eq!(definition.description, "another");
    assert_eq!(definition.working_dir, std::path::PathBuf::from("/w"));
    setup.applied(&lease).await;
}

#[tokio::test]
async fn a_replacement_keeps_what_the_api_has_no_member_for() {
    let mut spec = cts_testkit::fixtures::task("t", &["web"]);
    spec.file_settings.skip_unchanged = false;
    spec.file_settings.retry_failed = false;
    spec.file_settings.timeouts.apply = Some(Duration::from_mins(5));
    spec.file_settings.guard.min_instances = Some(2);
    let directory = tempfile::tempdir().unwrap();
    let store = store_in(directory.path()).await;
    let options = Options::alone(vec![spec.clone()], member());
    let setup = Setup::over(Arc::clone(&store), options).await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup.does(RunKind::Apply, applied()).await;
    setup.leader_has_looked("t").await;
    let mut other = declared("t");
    other.description = "another".into();
    let replaced = setup.replace("t", other, 0, RunMode::Unspecified);
    let (replaced, ()) = tokio::join!(replaced, setup.does(RunKind::Check, checked()));
    replaced.unwrap();
    let stored = store.task(spec.name()).await.unwrap().unwrap().spec;
    assert_ne!(stored.definition, spec.definition);
    let kept = cts_core::TaskSpec {
        definition: stored.definition.clone(),
        ..spec
    };
    assert_eq!(stored, kept);
}

#[tokio::test]
async fn replacements_that_make_no_sense_are_refused() {
    let setup = applied_once().await;
    let renamed = setup.replace("t", declared("u"), 0, RunMode::Now).await;
    assert_eq!(
        refused(&renamed.unwrap_err()),
        (Code::InvalidArgument, "invalid")
    );
    let absent = setup.replace("u", declared("u"), 0, RunMode::Now).await;
    assert_eq!(refused(&absent.unwrap_err()), (Code::NotFound, "unknown"));
    let inspected = setup.replace("t", declared("t"), 0, RunMode::Inspect).await;
    assert_eq!(
        refused(&inspected.unwrap_err()),
        (Code::InvalidArgument, "invalid")
    );
}

#[tokio::test]
async fn runs_are_listed_page_by_page_newest_first() {
    let setup = applied_once().await;
    for port in 2..5 {
        setup.watcher.show(vec![instance("w", port)]);
        setup.does(RunKind::Apply, applied()).await;
    }
    let page = async |token: &str, size| {
        let request = ListRunsRequest {
            task_name: "t".into(),
            page_size: size,
            page_token: token.into(),
            ..ListRunsRequest::default()
        };
        let page = setup.runs.clone().list_runs(request).await;
        page.unwrap().into_inner()
    };
    let all = page("", 0).await;
    assert_eq!((all.runs.len(), all.next_page_token.as_str()), (4, ""));
    let times: Vec<_> = all
        .runs
        .iter()
        .map(|run| run.queued_at.as_ref().map(|at| (at.seconds, at.nanos)))
        .collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    let first = page("", 3).await;
    assert_eq!(first.runs, all.runs[..3]);
    let second = page(&first.next_page_token, 3).await;
    assert_eq!(second.runs, all.runs[3..]);
    assert_eq!(second.next_page_token, "");
    let failed = ListRunsRequest {
        status: RunStatus::Failed.into(),
        ..ListRunsRequest::default()
    };
    let none = setup.runs.clone().list_runs(failed).await.unwrap();
    assert!(none.into_inner().runs.is_empty());
    let nonsense = ListRunsRequest {
        page_token: "x".into(),
        ..ListRunsRequest::default()
    };
    let refusal = setup.runs.clone().list_runs(nonsense).await.unwrap_err();
    assert_eq!(refusal.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn runs_of_visible_tasks_are_listed_alone() {
    let tasks = ["web-1", "web-2", "web", "db"];
    let setup = Setup::new(tasks.map(task).to_vec(), LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    for _ in tasks {
        setup.does(RunKind::Apply, applied()).await;
    }
    let names = async |visible: &[&str], size, token: &str| {
        let request = ListRunsRequest {
            page_size: size,
            page_token: token.to_owned(),
            visible_tasks: visible.iter().map(|&it| it.to_owned()).collect(),
            ..ListRunsRequest::default()
        };
        let page = setup.runs.clone().list_runs(request).await.unwrap();
        let page = page.into_inner();
        let mut names: Vec<_> = page.runs.into_iter().map(|run| run.task_name).collect();
        names.sort_unstable();
        (names, page.next_page_token)
    };
    for (visible, expected) in [
        (&["web-*"][..], &["web-1", "web-2"][..]),
        (&["web", "d?"], &["db", "web"]),
        (&["*-2", "web"], &["web", "web-2"]),
        (&["missing"], &[]),
        (&[], &["db", "web", "web-1", "web-2"]),
    ] {
        let (found, next) = names(visible, 100, "").await;
        assert_eq!(found, expected, "{visible:?}");
        assert_eq!(next, "");
    }
    let (first, token) = names(&["web-*"], 1, "").await;
    let (second, end) = names(&["web-*"], 1, &token).await;
    let mut both = [first, second].concat();
    both.sort_unstable();
    assert_eq!(
        (both, end.as_str()),
        (vec!["web-1".to_owned(), "web-2".to_owned()], "")
    );
}

#[tokio::test]
async fn followers_hear_of_runs_that_a_change_cancels() {
    let options = Options::alone(vec![task("t"), task("u")], member());
    let setup = Setup::with(options).await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup
        .until_so(async |setup| setup.queue().await.queued == 2)
        .await;
    setup.delete("t").await.unwrap();
    let refusal = setup.update("u", Some(false), RunMode::Unspecified).await;
    assert_eq!(
        refused(&refusal.unwrap_err()),
        (Code::FailedPrecondition, "busy"),
        "it is about to run"
    );
    setup.delete("u").await.unwrap();
    for end in setup.ends(2).await.into_values() {
        assert_eq!(end.status(), RunStatus::Cancelled);
    }
}
