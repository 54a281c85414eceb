//! Nothing is applied without the data of all views, and no change that comes before that is lost.

use cts_proto::run::v1::RunKind;
use cts_proto::task::v1::RunMode;
use cts_scheduler::Options;
use tonic::Code;

use crate::calls::{SHORT, checked, on_services, refused};
use crate::setup::{Setup, instance, member, store_in, task};

/// A task on "web" that is applied, while no data of "db" come.
async fn applied_once(directory: &tempfile::TempDir) -> Setup {
    let options = Options {
        input_timeout: SHORT,
        ..Options::alone(vec![task("t")], member())
    };
    let setup = Setup::over(store_in(directory.path()).await, options).await;
    setup.watcher.hide("db");
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    setup.applied(&lease).await;
    setup.leader_has_looked("t").await;
    setup
}

#[tokio::test]
async fn a_replacement_whose_data_come_too_late_for_its_caller_is_applied_when_they_come() {
    let directory = tempfile::tempdir().unwrap();
    let setup = applied_once(&directory).await;
    let both = on_services("t", &["web", "db"]);
    let refusal = setup.replace("t", both, 0, RunMode::Now).await.unwrap_err();
    assert_eq!(
        refused(&refusal),
        (Code::FailedPrecondition, "not_initialized")
    );
    setup.nothing_runs().await;
    setup.watcher.reveal("db");
    let lease = setup.acquired().await;
    assert_eq!(setup.input(&lease).await.services.len(), 2, "one of each");
    setup.applied(&lease).await;
}

#[tokio::test]
async fn a_change_waits_for_a_view_that_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let setup = applied_once(&directory).await;
    let both = on_services("t", &["web", "db"]);
    let refusal = setup.replace("t", both, 0, RunMode::Unspecified).await;
    assert!(refusal.is_err());
    setup.watcher.show(vec![instance("w", 2), instance("v", 3)]);
    setup.nothing_runs().await;
    setup.watcher.reveal("db");
    let lease = setup.acquired().await;
    assert_eq!(setup.input(&lease).await.services.len(), 4, "two of each");
    setup.applied(&lease).await;
    setup.nothing_runs().await;
}

#[tokio::test]
async fn a_view_that_moves_from_one_task_to_another_is_not_missing_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::alone(vec![task("a"), task("b")], member());
    let setup = Setup::over(store_in(directory.path()).await, options).await;
    setup.watcher.show(vec![instance("w", 1)]);
    for _ in 0..2 {
        let lease = setup.acquired().await;
        setup.applied(&lease).await;
    }
    setup.leader_has_looked("a").await;
    for services in [["db", "web"], ["mail", "web"]] {
        let (replaced, ()) = tokio::join!(
            setup.replace("a", on_services("a", &services), 0, RunMode::Unspecified),
            setup.does(RunKind::Check, checked()),
        );
        replaced.unwrap();
    }
    // A single poll of the leader may find both changes: "mail" goes from the first task to the second.
    let (first, second, (), ()) = tokio::join!(
        setup.replace("a", on_services("a", &["web"]), 0, RunMode::Unspecified),
        setup.replace(
            "b",
            on_services("b", &["mail", "web"]),
            0,
            RunMode::Unspecified
        ),
        setup.does(RunKind::Check, checked()),
        setup.does(RunKind::Check, checked()),
    );
    first.unwrap();
    second.unwrap();
}
