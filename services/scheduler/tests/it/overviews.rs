//! States of tasks at a moment, alone and in the overview.

mod versions;

use std::sync::Arc;
use std::time::Duration;

use cts_core::Clock;
use cts_proto::cluster::v1::{
    GetLimitedOverviewRequest, GetOverviewRequest, GetOverviewResponse, GetTimesRequest,
    TimesOfChanges,
};
use cts_proto::run::v1::RunKind;
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::{CurrentStateName, RunMode};
use cts_proto::time::duration_to_wire;
use cts_proto::worker::v1 as worker;
use cts_runtime::SystemClock;
use cts_scheduler::Options;
use cts_testkit::ManualClock;
use tokio_stream::StreamExt as _;

use crate::calls::{applied, failed};
use crate::setup::{Setup, WORKER, instance, member, store_in, task};
use crate::unreadable_keys::on_keys;

const LONG: Duration = Duration::from_mins(1);

async fn overview(setup: &Setup) -> GetOverviewResponse {
    let mut cluster = setup.cluster.clone();
    let answer = cluster.get_overview(GetOverviewRequest {}).await;
    answer.unwrap().into_inner()
}

/// Registers a worker that takes no runs.
async fn add_worker(setup: &Setup) {
    let worker = worker::Worker {
        id: "idle".into(),
        ..worker::Worker::default()
    };
    setup.heartbeat(worker).await;
}

/// The state of the only task in the list.
async fn listed(setup: &Setup) -> proto::CurrentState {
    let request = proto::ListCurrentStatesRequest::default();
    let parts = setup.tasks.clone().list_current_states(request).await;
    let mut parts = parts.unwrap().into_inner();
    let part = parts.next().await.unwrap().unwrap();
    part.states[0].state.clone().unwrap()
}

/// Waits until the task has this state; the list, the explanation and the overview agree.
async fn reaches(setup: &Setup, name: CurrentStateName) -> proto::CurrentState {
    setup
        .until(async |setup| {
            let state = listed(setup).await;
            let same = setup.explained("t").await.state.unwrap();
            let word = cts_proto::json::Word::word(name);
            let counted = overview(setup).await.tasks.get(&word) == Some(&1);
            let agree = state.name() == name && same.name() == name && counted;
            agree.then_some(state)
        })
        .await
}

#[tokio::test]
async fn a_task_goes_through_its_states() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    add_worker(&setup).await;
    let waiting = reaches(&setup, CurrentStateName::Waiting).await;
    assert_eq!(
        waiting.text,
        "not read from Consul yet: health.service(web)"
    );
    setup.watcher.fail("web", "no route to consul");
    let blind = reaches(&setup, CurrentStateName::Blind).await;
    assert_eq!(blind.text, "health.service(web): no route to consul");
    assert!(blind.since.is_some());
    let all = overview(&setup).await;
    assert_eq!(all.problems.last().unwrap().task_name, "t", "{all:?}");
    let data = all.data.as_ref().unwrap();
    assert_eq!((data.views, data.incomplete, data.unreadable), (1, 1, 1));
    assert_eq!(data.reason, blind.text);

    setup.watcher.mend("web");
    setup.watcher.show(vec![instance("w", 1)]);
    let queued = reaches(&setup, CurrentStateName::Queued).await;
    assert!(!queued.run_id.is_empty() && queued.since.is_some());
    let lease = setup.acquired().await;
    let running = reaches(&setup, CurrentStateName::Running).await;
    assert_eq!(running.run_id, lease.run_id);
    assert_eq!(
        (running.text.as_str(), running.worker.as_str()),
        ("apply", WORKER)
    );
    let run = setup.run(&lease.run_id).await.unwrap();
    assert_eq!(run.worker_id, WORKER);

    let failure = failed("the port is taken");
    setup.complete(&lease, failure).await.unwrap();
    let retrying = reaches(&setup, CurrentStateName::Retrying).await;
    assert!(retrying.until.is_some());
    assert!(retrying.text.contains("the port is taken"), "{retrying:?}");
    assert_eq!(retrying.worker, "");

    setup.does(RunKind::Apply, applied()).await;
    let successful = reaches(&setup, CurrentStateName::Successful).await;
    assert_eq!(
        (successful.text.as_str(), successful.run_id.as_str()),
        ("", "")
    );
    setup
        .until(async |setup| overview(setup).await.problems.is_empty().then_some(()))
        .await;
    let update = setup.update("t", Some(false), RunMode::Unspecified).await;
    update.unwrap();
    reaches(&setup, CurrentStateName::Disabled).await;
}

#[tokio::test]
async fn the_times_of_an_applied_change_are_shown() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup.does(RunKind::Apply, applied()).await;
    let times = setup
        .until(async |setup| {
            let request = GetTimesRequest {
                since: Some(duration_to_wire(Duration::from_hours(2))),
            };
            let times = setup.cluster.clone().get_times(request).await;
            let times = times.unwrap().into_inner();
            (!times.intervals.is_empty()).then_some(times)
        })
        .await;
    let ten_minutes = duration_to_wire(Duration::from_mins(10));
    assert_eq!(times.interval, Some(ten_minutes));
    let phases = &times.intervals[0].phases;
    let names: Vec<&str> = phases.keys().map(String::as_str).collect();
    assert_eq!(names, ["applied", "buffered", "queued", "terraform"]);
    assert!(phases.values().all(|times| times.count == 1), "{times:?}");
    let total = times.total.unwrap();
    assert_eq!((times.intervals.len(), &total.phases), (1, phases));
    let begin = |times: &TimesOfChanges| times.at.unwrap().seconds;
    assert!(begin(&total) < begin(&times.intervals[0]));
}

#[tokio::test]
async fn an_outage_of_consul_is_one_problem_with_a_count() {
    let tasks = ["a", "b", "c"].map(task);
    let setup = Setup::new(tasks.into(), LONG).await;
    add_worker(&setup).await;
    let problems = async |count: usize| {
        let all = setup
            .until(async |setup| {
                let all = overview(setup).await;
                let is_so = all.tasks.get("blind") == Some(&3) && all.problems.len() == count;
                is_so.then_some(all)
            })
            .await;
        assert_eq!(all.more_problems, 0);
        all.problems.into_iter().map(|problem| problem.text).next()
    };
    setup.watcher.fail("web", "the filter is refused");
    let text = "1 of 1 views of Consul cannot be read: health.service(web): the filter is refused; `cts doctor` checks address, token and rights";
    assert_eq!(problems(4).await.as_deref(), Some(text));
    setup.watcher.begin_outage();
    let text = "1 of 1 views of Consul cannot be read, so 3 tasks do not see changes: health.service(web): the filter is refused; `cts doctor` checks address, token and rights";
    assert_eq!(problems(1).await.as_deref(), Some(text));
}

#[tokio::test]
async fn a_consul_that_stands_still_is_a_problem_and_no_outage() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    add_worker(&setup).await;
    setup.watcher.show(vec![instance("w", 1)]);
    setup.does(RunKind::Apply, applied()).await;
    reaches(&setup, CurrentStateName::Successful).await;
    setup.watcher.stand_still(Some(Duration::from_secs(40)));
    let problem = setup
        .until(async |setup| overview(setup).await.problems.into_iter().next())
        .await;
    let begin = "Consul at consul:8500 stands still: it has answered nothing for 40 s";
    assert!(problem.text.starts_with(begin), "{problem:?}");
    reaches(&setup, CurrentStateName::Successful).await;
    setup.watcher.stand_still(None);
    setup
        .until(async |setup| overview(setup).await.problems.is_empty().then_some(()))
        .await;
}

#[tokio::test]
async fn a_first_run_that_waits_for_a_key_for_a_minute_is_a_problem() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(SystemClock.now()));
    let options = Options::alone(vec![on_keys("t")], member());
    let store = store_in(directory.path()).await;
    let setup = Setup::prepared_by(Arc::clone(&clock) as Arc<dyn Clock>, store, options);
    let setup = setup.await.unwrap();
    add_worker(&setup).await;
    setup.shows(&[("a/1", Some("1")), ("a/odd", None)]);
    let waiting = reaches(&setup, CurrentStateName::Waiting).await;
    setup
        .until(async |setup| listed(setup).await.text.contains("a/odd").then_some(()))
        .await;
    assert_eq!(overview(&setup).await.problems, []);
    clock.advance(Duration::from_secs(61));
    let blind = reaches(&setup, CurrentStateName::Blind).await;
    for text in ["the first run waits for kv.list(a/)", "\"a/odd\"", "UTF-8"] {
        assert!(blind.text.contains(text), "{}", blind.text);
    }
    assert!(waiting.since.is_some() && blind.since.is_some());
    let problems = overview(&setup).await.problems;
    let [problem] = problems.as_slice() else {
        panic!("{problems:?}");
    };
    assert_eq!((&*problem.task_name, &*problem.text), ("t", &*blind.text));
    assert_eq!(setup.explained("t").await.state.unwrap(), blind);
    setup.shows(&[("a/1", Some("1")), ("a/odd", Some("x"))]);
    setup.applied(&setup.acquired().await).await;
    reaches(&setup, CurrentStateName::Successful).await;
}

#[tokio::test]
async fn an_enabled_task_without_a_worker_is_a_problem_of_the_cluster() {
    let texts = async |setup: &Setup| -> Vec<String> {
        let problems = overview(setup).await.problems;
        problems.into_iter().map(|problem| problem.text).collect()
    };
    let text = "no worker runs the tasks; start one with `cts worker`";
    for is_disabled in [true, false] {
        let setup = Setup::new(vec![task("t")], LONG).await;
        setup
            .until_so(async |setup| texts(setup).await == [text])
            .await;
        if is_disabled {
            let update = setup.update("t", Some(false), RunMode::Unspecified).await;
            update.unwrap();
        } else {
            add_worker(&setup).await;
        }
        setup
            .until(async |setup| texts(setup).await.is_empty().then_some(()))
            .await;
    }
}

#[tokio::test]
async fn due_runs_that_no_worker_takes_are_a_problem_of_the_cluster() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let problem = setup
        .until(async |setup| {
            let problem = overview(setup).await.problems.into_iter().next();
            problem.filter(|problem| problem.text.starts_with("due runs"))
        })
        .await;
    let beginning = "due runs that no worker takes: 1, the oldest, of t, for ";
    assert!(problem.text.starts_with(beginning), "{problem:?}");
    assert!(
        problem
            .text
            .contains(" s: there is no worker; `cts workers list`"),
        "{problem:?}"
    );
    assert_eq!(listed(&setup).await.text, "there is no worker");
    let lease = setup.acquired().await;
    setup.applied(&lease).await;
    add_worker(&setup).await;
    let all = setup
        .until(async |setup| {
            let all = overview(setup).await;
            all.problems.is_empty().then_some(all)
        })
        .await;
    assert!(
        all.members
            .iter()
            .any(|member| member.leader && member.healthy)
    );
}

#[tokio::test]
async fn a_run_tells_what_has_changed_since_the_last_apply() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let first = setup.acquired().await;
    let run = setup.run(&first.run_id).await.unwrap();
    assert_eq!(run.cause, ["the task was not applied before"]);
    setup.applied(&first).await;
    setup.watcher.show(vec![instance("w", 2), instance("x", 1)]);
    let second = setup.acquired().await;
    let run = setup.run(&second.run_id).await.unwrap();
    assert_eq!(run.cause, ["web: +x, w port"]);
    setup.applied(&second).await;
    let explanation = setup.explained("t").await;
    assert_eq!(explanation.last_run.unwrap().cause, run.cause);
}

/// The states that have changed since one of these versions.
async fn changed(setup: &Setup, versions: &[String]) -> proto::ListCurrentStatesResponse {
    let request = proto::ListCurrentStatesRequest {
        versions: versions.to_vec(),
    };
    let parts = setup.tasks.clone().list_current_states(request).await;
    let part = parts.unwrap().into_inner().next().await;
    part.unwrap().unwrap()
}

#[tokio::test]
async fn only_states_that_have_changed_are_sent_again() {
    let setup = Setup::new(vec![task("t"), task("u")], LONG).await;
    let first = changed(&setup, &["of.1".to_owned()]).await;
    assert_eq!((first.after.as_str(), first.states.len()), ("", 2));
    let update = setup.update("t", Some(false), RunMode::Unspecified).await;
    update.unwrap();
    let second = setup
        .until(async |setup| {
            let second = changed(setup, std::slice::from_ref(&first.version)).await;
            assert_eq!(second.after, first.version);
            let is_disabled = |state: &proto::NamedState| {
                let now = state.state.as_ref().map(proto::CurrentState::name);
                state.task_name == "t" && now == Some(CurrentStateName::Disabled)
            };
            second.states.iter().any(is_disabled).then_some(second)
        })
        .await;
    let both = [second.version.clone(), first.version];
    let third = changed(&setup, &both).await;
    assert_eq!(third.after, second.version, "the newest that is known");
    assert!(!third.states.iter().any(|state| state.task_name == "t"));
}

/// The state of the tasks that these patterns match.
async fn limited(setup: &Setup, patterns: &[&str]) -> GetOverviewResponse {
    let request = GetLimitedOverviewRequest {
        visible_tasks: patterns.iter().map(|it| (*it).to_owned()).collect(),
    };
    let answer = setup.cluster.clone().get_limited_overview(request).await;
    answer.unwrap().into_inner().overview.unwrap()
}

#[tokio::test]
async fn tasks_are_listed_by_page_and_as_a_grid() {
    let tasks = ["edge_1", "edge_2", "fw_1"].map(task);
    let setup = Setup::new(tasks.into(), LONG).await;
    add_worker(&setup).await;
    let update = setup.update("edge_2", Some(false), RunMode::Unspecified);
    update.await.unwrap();
    let page = async |request: proto::ListTaskPageRequest| {
        let page = setup.tasks.clone().list_task_page(request).await;
        let page = page.unwrap().into_inner();
        let names = page.states.iter().map(|state| state.task_name.clone());
        (names.collect::<Vec<_>>(), page.total, page.pages)
    };
    let grid = async |patterns: &[&str]| {
        let request = proto::GetTaskGridRequest {
            visible_tasks: patterns.iter().map(|it| (*it).to_owned()).collect(),
        };
        let grid = setup.tasks.clone().get_task_grid(request).await;
        grid.unwrap().into_inner().grid
    };
    setup
        .until_so(async |_| grid(&[]).await == "wdw" && grid(&["edge*"]).await == "wd")
        .await;
    let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let all = proto::ListTaskPageRequest::default();
    let expected = (names(&["edge_1", "edge_2", "fw_1"]), 3, 1);
    assert_eq!(page(all.clone()).await, expected);
    let visible = proto::ListTaskPageRequest {
        search: "_1".to_owned(),
        visible_tasks: vec!["edge*".to_owned()],
        ..all.clone()
    };
    assert_eq!(page(visible).await, (names(&["edge_1"]), 1, 1));
    let by_state = proto::ListTaskPageRequest {
        order: proto::TaskOrder::State.into(),
        ..all.clone()
    };
    let expected = (names(&["edge_1", "fw_1", "edge_2"]), 3, 1);
    assert_eq!(page(by_state).await, expected);
    let wrong = proto::ListTaskPageRequest {
        visible_tasks: vec!["web-[".to_owned()],
        ..all
    };
    let refused = setup.tasks.clone().list_task_page(wrong).await;
    assert_eq!(refused.unwrap_err().code(), tonic::Code::InvalidArgument);
}

#[tokio::test]
async fn a_limited_overview_is_that_of_its_tasks_without_machines() {
    let tasks = ["edge_1", "edge_2", "fw_1"].map(task);
    let setup = Setup::new(tasks.into(), LONG).await;
    let worker = worker::Worker {
        id: "pool@m-1-0197a000-0000-7000-8000-000000000001".into(),
        host: "m-1".into(),
        slots: 4,
        problem: Some(worker::WorkerProblem {
            reason: "no space left on /var/lib".into(),
            takes_runs: false,
        }),
        ..worker::Worker::default()
    };
    setup.heartbeat(worker).await;
    setup.watcher.fail("web", "the filter is refused");
    let all = setup
        .until(async |setup| {
            let all = overview(setup).await;
            (all.tasks.get("blind") == Some(&3)).then_some(all)
        })
        .await;
    let texts = |overview: &GetOverviewResponse| format!("{:?}", overview.problems);
    assert!(texts(&all).contains("m-1") && texts(&all).contains("fw_1"));
    let some = limited(&setup, &["edge*"]).await;
    assert_eq!(some.tasks.get("blind"), Some(&2));
    let named = some.problems.iter().map(|problem| &*problem.task_name);
    assert_eq!(named.collect::<Vec<_>>(), ["", "edge_1", "edge_2"]);
    assert_eq!(some.data.as_ref().map(|data| data.unreadable), Some(1));
    let said = format!("{some:?}");
    for hidden in ["m-1", "fw_1", "/var/lib"] {
        assert!(!said.contains(hidden), "{said}");
    }
    let [worker] = some.workers.as_slice() else {
        panic!("{some:?}");
    };
    let id = "0197a000-0000-7000-8000-000000000001";
    assert_eq!((&*worker.id, &*worker.host), (id, ""));
    let none = limited(&setup, &["dns"]).await;
    assert!(
        none.tasks.is_empty() && none.problems.is_empty(),
        "{none:?}"
    );
}

#[tokio::test]
async fn a_limited_overview_counts_the_runs_of_its_tasks() {
    let tasks = ["edge_1", "edge_2", "fw_1"].map(task);
    let setup = Setup::new(tasks.into(), LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let depth = async |setup: &Setup, patterns: &[&str]| {
        let queue = limited(setup, patterns).await.queue.unwrap();
        (queue.queued, queue.ready, queue.running)
    };
    setup
        .until_so(async |setup| depth(setup, &["edge*"]).await == (2, 2, 0))
        .await;
    let lease = setup.acquired().await;
    let other = if lease.task_name == "fw_1" {
        "edge_1"
    } else {
        "fw_1"
    };
    setup
        .until_so(async |setup| {
            depth(setup, &[&lease.task_name]).await == (0, 0, 1)
                && depth(setup, &[other]).await == (1, 1, 0)
        })
        .await;
    let queue = limited(&setup, &[other]).await.queue.unwrap();
    assert!(queue.oldest_ready.is_some() && queue.waiting.is_empty());
}
