//! Why tasks run or do not.

use std::time::Duration;

use cts_core::TaskSpec;
use cts_proto::run::v1::{GetRunRequest, RunKind};
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::{DecisionKind, ObstacleKind, RunMode};
use tonic::Code;

use crate::calls::{applied, failed, on_services};
use crate::setup::{Setup, instance, task};

const LONG: Duration = Duration::from_mins(1);

fn obstacles(explanation: &proto::Explanation) -> Vec<ObstacleKind> {
    let obstacles = explanation.obstacles.iter();
    obstacles.map(proto::Obstacle::kind).collect()
}

#[tokio::test]
async fn explains_an_unreadable_view_until_it_is_readable() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.fail("web", "500\n[ERROR] fake");
    let seen = async |kinds: &[ObstacleKind]| {
        setup
            .until(async |setup| {
                let explanation = setup.explained("t").await;
                let is_so = explanation.as_of.is_some() && obstacles(&explanation) == kinds;
                let told = explanation.views.first()?.problem.is_some() || kinds.is_empty();
                (is_so && told).then_some(explanation)
            })
            .await
    };
    let unread = seen(&[ObstacleKind::InputIncomplete]).await;
    let problem = unread.views[0].problem.as_ref().unwrap();
    assert_eq!(problem.text, "500\\n[ERROR] fake");
    let (since, next) = (problem.since.unwrap(), problem.next_try.unwrap());
    let span = next.seconds - since.seconds;
    assert!(
        (359..=361).contains(&span),
        "a minute before and five after"
    );
    assert_eq!(problem.last_answer, None);
    let text = &unread.obstacles[0].text;
    assert!(
        text.contains("cannot be read since") && text.contains("500\\n"),
        "{text}"
    );

    setup.watcher.mend("web");
    setup.watcher.show(vec![instance("w", 1)]);
    setup.does(RunKind::Apply, applied()).await;
    seen(&[]).await;
    setup.watcher.fail("web", "gone");
    let stale = seen(&[ObstacleKind::ViewUnreadable]).await;
    assert!(stale.views[0].complete);
    assert!(stale.obstacles[0].text.contains("gone"));
    setup.watcher.mend("web");
    let fresh = seen(&[]).await;
    assert_eq!(fresh.views[0].problem, None);
}

#[tokio::test]
async fn a_watcher_that_goes_away_is_told() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    let told = setup
        .until(async |setup| {
            // The stream may have been opened only now.
            setup.watcher.restart();
            let explanation = setup.explained("t").await;
            let problem = explanation.views.first()?.problem.as_ref()?;
            Some(problem.text.clone())
        })
        .await;
    assert!(told.contains("cannot be followed"), "{told}");
}

#[tokio::test]
async fn runs_decisions_and_what_is_waited_for_are_told() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    let running = setup.explained("t").await;
    assert_eq!(running.current_run.as_ref().unwrap().id, lease.run_id);
    assert!(obstacles(&running).contains(&ObstacleKind::Running));
    setup.applied(&lease).await;
    let told = setup
        .until(async |setup| {
            let explanation = setup.explained("t").await;
            explanation.last_decision.is_some().then_some(explanation)
        })
        .await;
    let decision = told.last_decision.as_ref().unwrap();
    assert_eq!(decision.kind(), DecisionKind::Queued);
    assert_eq!(decision.run_id, lease.run_id);
    assert!(told.views[0].complete && told.views[0].changed_at.is_some());
    assert_eq!(told.last_run.as_ref().unwrap().id, lease.run_id);
    assert_eq!(told.current_run, None);
    assert_eq!(obstacles(&told), []);
}

#[tokio::test]
async fn a_run_that_waits_for_its_group_says_for_which_task() {
    let grouped = |name: &str| TaskSpec {
        file_settings: cts_core::FileSettings {
            concurrency_group: Some("fw".to_owned()),
            ..cts_core::FileSettings::default()
        },
        ..task(name)
    };
    let setup = Setup::new(vec![grouped("a"), grouped("b")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let first = setup.acquired().await;
    let waiting = if first.task_name == "a" { "b" } else { "a" };
    let queued = setup
        .until(async |setup| {
            let explanation = setup.explained(waiting).await;
            explanation.current_run.is_some().then_some(explanation)
        })
        .await;
    assert_eq!(obstacles(&queued), [ObstacleKind::GroupBusy]);
    let expected = format!(
        "task {} of its concurrency group \"fw\" is applying, and of a group one does at a time",
        first.task_name
    );
    assert_eq!(queued.obstacles[0].text, expected);
    let run = queued.current_run.unwrap().id;
    assert_eq!(setup.run(&run).await.unwrap().waiting_for, expected);

    // A caller who may not know of the other task.
    let hidden =
        "another task has its concurrency group \"fw\", and of a group one applies at a time";
    let either = ["a".to_owned(), "b".to_owned()];
    for (visible, text) in [
        (vec![waiting.to_owned()], hidden),
        (either.to_vec(), expected.as_str()),
        (vec!["?".to_owned()], expected.as_str()),
    ] {
        let request = proto::ExplainTaskRequest {
            name: waiting.into(),
            visible_tasks: visible.clone(),
        };
        let answer = setup.tasks.clone().explain_task(request).await.unwrap();
        let answer = answer.into_inner();
        let explanation = answer.explanation.unwrap();
        assert_eq!(obstacles(&explanation), [ObstacleKind::GroupBusy]);
        assert_eq!(explanation.obstacles[0].text, text, "{visible:?}");
        let request = GetRunRequest {
            run_id: run.clone(),
            visible_tasks: visible.clone(),
            ..GetRunRequest::default()
        };
        let answer = setup.runs.clone().get_run(request).await.unwrap();
        let answer = answer.into_inner();
        assert_eq!(answer.run.unwrap().waiting_for, text, "{visible:?}");
    }
    setup.applied(&first).await;
    let second = setup.acquired().await;
    assert_eq!(second.task_name, waiting);
}

#[tokio::test]
async fn a_run_without_a_worker_and_a_task_that_is_off_are_explained() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let queued = setup
        .until(async |setup| {
            let explanation = setup.explained("t").await;
            explanation.current_run.is_some().then_some(explanation)
        })
        .await;
    assert!(obstacles(&queued).contains(&ObstacleKind::NoCapableWorker));
    setup.does(RunKind::Apply, applied()).await;
    let update = setup.update("t", Some(false), RunMode::Unspecified).await;
    update.unwrap();
    let off = setup.explained("t").await;
    assert!(!off.enabled);
    assert_eq!(obstacles(&off), [ObstacleKind::Disabled]);
}

#[tokio::test]
async fn a_run_that_is_tried_again_has_the_words_of_the_author() {
    const ERROR: &str = "exit status 1\n\nError: Resource precondition failed\n\n  on main.tf line 7, in resource \
                         \"terraform_data\" \"a\":\n   7:  condition = var.open\n\nThe firewall refuses port 4430. Ask \
                         its owners.\n";
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    setup.complete(&lease, failed(ERROR)).await.unwrap();
    let waiting = setup.explained("t").await;
    assert_eq!(obstacles(&waiting), [ObstacleKind::NotDue]);
    let text = &waiting.obstacles[0].text;
    let reason = "exit status 1: Resource precondition failed (main.tf line 7): The firewall refuses port 4430";
    assert!(text.ends_with(reason), "{text}");
}

#[tokio::test]
async fn task_in_creation_is_not_explained() {
    let setup = Setup::new(Vec::new(), LONG).await;
    let created = setup.create(on_services("a", &["web"]), RunMode::Now);
    let asked = async {
        let request = proto::ExplainTaskRequest {
            name: "a".into(),
            ..proto::ExplainTaskRequest::default()
        };
        setup.tasks.clone().explain_task(request).await.unwrap_err()
    };
    let refusal = tokio::select! {
        created = created => panic!("{created:?}"),
        refusal = asked => refusal,
    };
    assert_eq!(refusal.code(), Code::NotFound);
}
