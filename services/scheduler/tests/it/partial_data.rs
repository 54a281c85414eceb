//! Nothing is applied without the data of all views, and no change that comes before that is lost.

use cts_proto::task::v1::RunMode;
use cts_scheduler::Options;
use tonic::Code;

use crate::calls::{SHORT, on_services, refused};
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
