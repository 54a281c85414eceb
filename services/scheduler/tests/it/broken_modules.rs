//! Tasks whose modules cannot be used: their runs fail, and no worker gets one.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cts_core::{OnDelete, TaskSpec};
use cts_proto::run::v1::{RunKind, RunStatus};
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::RunMode;
use cts_proto::worker::v1 as worker;
use cts_rpc::convert;
use cts_scheduler::{Mode, Options};
use tonic::Code;

use crate::calls::{declared, destroyed, refused};
use crate::setup::{NO_MODULE, Setup, WORKER, instance, member, task, terraform};
use crate::site::Site;

/// Longer than a request takes.
const WHILE: Duration = Duration::from_millis(300);

impl Site {
    fn module(&self) -> PathBuf {
        self.path("m")
    }

    fn mend(&self) {
        self.write("m/main.tf", "# mended");
    }

    /// A task of the files with the module of this site, read while the module was missing.
    fn broken(&self, name: &str) -> TaskSpec {
        let mut broken = self.sound(name);
        broken.requirement.unusable_module = Some(NO_MODULE.to_owned());
        broken
    }

    fn sound(&self, name: &str) -> TaskSpec {
        let mut sound = task(name);
        sound.definition.module_source = self.module().display().to_string();
        sound
    }

    async fn start_alone(&self, tasks: Vec<TaskSpec>) -> Setup {
        self.start(Options::alone(tasks, member())).await
    }
}

/// Waits until the task has `count` events, and returns the errors of the events, newest first.
async fn errors(setup: &Setup, name: &str, count: usize) -> Vec<String> {
    let events = setup.until(async |setup| {
        let events = setup.state(name).await.events;
        (events.len() == count).then_some(events)
    });
    let events = events.await.into_iter();
    events
        .map(|event| event.error.unwrap_or_default())
        .collect()
}

#[tokio::test]
async fn each_trigger_is_a_failed_event_until_the_module_is_mended_and_other_tasks_go_on() {
    let site = Site::new().await;
    let setup = site
        .start_alone(vec![site.broken("broken"), task("sound")])
        .await;
    setup.nothing_runs().await;
    assert_eq!(
        setup.state("broken").await.event_count,
        0,
        "its views come first"
    );

    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    assert_eq!(lease.task_name, "sound");
    setup.applied(&lease).await;
    assert_eq!(errors(&setup, "broken", 1).await, [NO_MODULE]);
    setup.nothing_runs().await;
    let explanation = setup.explained("broken").await;
    let obstacle = &explanation.obstacles[0];
    assert_eq!(obstacle.kind(), proto::ObstacleKind::ModuleUnusable);
    assert!(obstacle.text.contains(NO_MODULE), "{}", obstacle.text);
    let last = explanation.last_run.unwrap();
    assert_eq!((last.status(), last.attempts), (RunStatus::Failed, 0));

    setup.watcher.show(vec![instance("w", 2)]);
    let lease = setup.acquired().await;
    assert_eq!(lease.task_name, "sound");
    setup.applied(&lease).await;
    assert_eq!(errors(&setup, "broken", 2).await, [NO_MODULE; 2]);

    site.mend();
    setup.watcher.show(vec![instance("w", 3)]);
    let mut leased = Vec::new();
    for _ in 0..2 {
        let lease = setup.acquired().await;
        if lease.task_name == "broken" {
            let definition = setup.input(&lease).await.definition;
            assert!(definition.module_digest.is_some());
        }
        leased.push(lease.task_name.clone());
        setup.applied(&lease).await;
    }
    leased.sort();
    assert_eq!(leased, ["broken", "sound"]);
    let events = setup.state("broken").await.events;
    assert!(events[0].success, "{events:?}");
}

#[tokio::test]
async fn requests_fail_or_find_the_mended_module() {
    let site = Site::new().await;
    let setup = site.start_alone(vec![site.broken("t")]).await;
    setup.watcher.show(vec![instance("w", 1)]);
    errors(&setup, "t", 1).await;
    for (mode, events) in [(RunMode::Now, 2), (RunMode::Inspect, 2)] {
        let refusal = setup.update("t", Some(true), mode).await.unwrap_err();
        assert_eq!(refused(&refusal), (Code::FailedPrecondition, "run_failed"));
        assert!(refusal.message().contains(NO_MODULE), "{refusal}");
        errors(&setup, "t", events).await;
    }
    let other = proto::Task {
        module: "broken".into(),
        ..declared("t")
    };
    let refusal = setup
        .replace("t", other, 0, RunMode::Now)
        .await
        .unwrap_err();
    assert_eq!(refused(&refusal), (Code::InvalidArgument, "invalid"));

    site.mend();
    let (updated, ()) = tokio::join!(setup.update("t", Some(true), RunMode::Now), async {
        let lease = setup.acquired().await;
        setup.applied(&lease).await;
    });
    updated.unwrap();
    assert!(setup.state("t").await.events[0].success);
    // The requested run is that of the mended module, too.
    setup.nothing_runs().await;
}

#[tokio::test]
async fn a_creation_waits_for_its_views_and_leaves_no_task() {
    let site = Site::new().await;
    let setup = site.start_alone(Vec::new()).await;
    let broken = proto::Task {
        module: "broken".into(),
        ..declared("made")
    };
    for mode in [RunMode::Unspecified, RunMode::Now, RunMode::Inspect] {
        let refusal = setup.create(broken.clone(), mode);
        let mut refusal = std::pin::pin!(refusal);
        if mode == RunMode::Unspecified {
            let early = tokio::time::timeout(WHILE, &mut refusal).await;
            assert!(early.is_err(), "{early:?}");
            setup.watcher.show(vec![instance("w", 1)]);
        }
        let refusal = refusal.await.unwrap_err();
        assert_eq!(refused(&refusal), (Code::FailedPrecondition, "run_failed"));
        assert!(refusal.message().contains(NO_MODULE), "{refusal}");
        assert_eq!(setup.names().await, [""; 0]);
    }
}

#[tokio::test]
async fn a_pass_ends_with_the_failure_and_a_disabled_task_with_a_failed_check() {
    let site = Site::new().await;
    let options = Options {
        mode: Mode::OnRequest,
        ..Options::alone(
            vec![
                site.broken("t"),
                TaskSpec {
                    enabled: false,
                    ..site.broken("off")
                },
            ],
            member(),
        )
    };
    let setup = Setup::over(Arc::clone(&site.store), options).await;
    let worker = worker::Worker {
        id: WORKER.into(),
        slots: 8,
        capabilities: Some(convert::capabilities_to_wire(&terraform())),
        ..worker::Worker::default()
    };
    setup.heartbeat(worker).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let name = "t".parse().unwrap();
    let run = setup
        .requests
        .request(&name, cts_core::runs::RunKind::Apply);
    let run = run.await.unwrap().to_string();
    let ended = setup.ends(1).await;
    assert_eq!(ended["t"].run_id, run);
    let record = setup.run(&run).await.unwrap();
    assert_eq!(
        (record.status(), record.error.as_str()),
        (RunStatus::Failed, NO_MODULE)
    );
    assert!(setup.checks.run(false).await);
    assert_eq!(setup.state("off").await.check_error, NO_MODULE);
    setup.nothing_runs().await;
}

#[tokio::test]
async fn another_leader_reads_the_module_before_a_run_fails() {
    let site = Site::new().await;
    let setup = site.start_alone(vec![site.broken("t")]).await;
    setup.watcher.show(vec![instance("w", 1)]);
    errors(&setup, "t", 1).await;
    drop(setup);
    site.mend();
    let setup = site.start_alone(vec![site.broken("t")]).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    setup.applied(&lease).await;
    assert_eq!(errors(&setup, "t", 2).await[0], "");
}

#[tokio::test]
async fn a_task_goes_whether_its_module_can_be_used_or_not() {
    let site = Site::new().await;
    site.mend();
    let to_destroy = |spec: TaskSpec| TaskSpec {
        on_delete: OnDelete::Destroy,
        ..spec
    };
    let setup = site.start_alone(vec![to_destroy(site.sound("t"))]).await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup.does(RunKind::Apply, crate::calls::applied()).await;
    drop(setup);

    fs::remove_dir_all(site.module()).unwrap();
    let tasks = vec![to_destroy(site.broken("t")), site.broken("never")];
    let setup = site.start_alone(tasks).await;
    setup.delete("never").await.unwrap();
    setup.gone("never").await;
    let mode = proto::DeletionMode::AsDeclared;
    setup.delete_in("t", mode).await.unwrap();
    let lease = setup.acquired().await;
    assert_eq!(lease.kind(), RunKind::Destroy, "the applied module is used");
    setup.complete(&lease, destroyed()).await.unwrap();
    setup.gone("t").await;
}
