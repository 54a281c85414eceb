//! Versions of answers, for those who follow them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cts_core::{ApprovalRule, Clock, TaskSpec};
use cts_proto::cluster::v1::{FollowRequest, GetOverviewRequest, GetOverviewResponse};
use cts_proto::run::v1 as run;
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::RunMode;
use cts_proto::worker::v1 as worker;
use cts_runtime::SystemClock;
use cts_scheduler::Options;
use cts_testkit::ManualClock;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;

use crate::calls::{SHORT, applied, declared, failed, interrupted};
use crate::setup::{Setup, instance, member, task};
use crate::workers::approvals::{RED, asks, decide, destroys, list, ruled};

/// Changes that the property is tested with.
const STEPS: usize = 30;

/// Longest time from a change to its version.
const SOON: Duration = Duration::from_secs(15);

/// What becomes of time changes a version within two seconds; the rest is for a busy machine.
const IN_TIME: Duration = Duration::from_secs(4);

/// Tasks that are applied where all others are disabled.
const APPLIED: u32 = 20;

/// A scheduler whose time a test moves, also that of its store.
struct Timed {
    setup: Setup,
    clock: Arc<ManualClock>,
    _directory: tempfile::TempDir,
}

async fn timed(tasks: Vec<TaskSpec>) -> Timed {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(SystemClock.now()));
    let path = directory.path().join("cts.db");
    let wall = Arc::clone(&clock) as Arc<dyn Clock>;
    let store = cts_store_sqlite::open(&path, Arc::clone(&wall), None).await;
    let options = Options {
        lease: Duration::from_hours(1),
        ..Options::alone(tasks, member())
    };
    let setup = Setup::prepared_by(wall, Arc::new(store.unwrap()), options).await;
    Timed {
        setup: setup.unwrap(),
        clock,
        _directory: directory,
    }
}

/// Versions that come while this is kept.
struct Following {
    told: Arc<Mutex<Told>>,
    _reading: JoinSet<()>,
}

#[derive(Debug, Default, Clone)]
struct Told {
    newest: BTreeMap<String, String>,
    /// When a version of a key came, with the groups that it named.
    events: Vec<(String, Instant, Vec<u32>)>,
}

impl Following {
    async fn start(setup: &Setup, keys: &[&str], visible: &[&str]) -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let request = FollowRequest {
            keys: texts(keys),
            visible_tasks: texts(visible),
        };
        let versions = setup.follow.clone().follow(request).await;
        let mut versions = versions.unwrap().into_inner();
        let told: Arc<Mutex<Told>> = Arc::default();
        let mut reading = JoinSet::new();
        let noted = Arc::clone(&told);
        reading.spawn(async move {
            while let Ok(Some(message)) = versions.message().await {
                let mut told = noted.lock();
                for version in message.versions {
                    let event = (version.key.clone(), Instant::now(), version.groups);
                    told.events.push(event);
                    told.newest.insert(version.key, version.version);
                }
            }
        });
        let following = Self {
            told,
            _reading: reading,
        };
        let present = async {
            while following.told().newest.len() < keys.len() {
                sleep(SHORT).await;
            }
        };
        timeout(SOON, present)
            .await
            .expect("the present versions come");
        following
    }

    fn told(&self) -> Told {
        self.told.lock().clone()
    }

    /// Waits until versions have settled, and forgets the events.
    async fn settled(&self) {
        let quiet = async {
            loop {
                let before = self.told().events.len();
                sleep(Duration::from_millis(2500)).await;
                if self.told().events.len() == before {
                    return;
                }
            }
        };
        timeout(Duration::from_mins(1), quiet).await.unwrap();
        self.told.lock().events.clear();
    }

    /// Waits for a version of the list that names this group.
    async fn group(&self, group: u32, limit: Duration) {
        let named = async {
            while !self
                .told()
                .events
                .iter()
                .any(|event| event.2.contains(&group))
            {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let named = timeout(limit, named).await;
        assert!(named.is_ok(), "without group {group}: {:?}", self.told());
    }

    /// Waits for an event of this key, and returns its groups.
    async fn event(&self, key: &str, limit: Duration) -> Vec<u32> {
        let found = async {
            loop {
                let told = self.told();
                if let Some(event) = told.events.iter().find(|event| event.0 == key) {
                    return event.2.clone();
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        let found = timeout(limit, found).await;
        assert!(found.is_ok(), "no version of {key}: {:?}", self.told());
        found.unwrap()
    }
}

async fn overview(setup: &Setup) -> GetOverviewResponse {
    let mut cluster = setup.cluster.clone();
    let overview = cluster.get_overview(GetOverviewRequest {});
    overview.await.unwrap().into_inner()
}

/// The overview without ages; digits of common problems count as ages.
fn ageless(mut overview: GetOverviewResponse) -> GetOverviewResponse {
    overview.at = None;
    overview
        .members
        .iter_mut()
        .for_each(|it| it.silent_for = None);
    overview
        .workers
        .iter_mut()
        .for_each(|it| it.silent_for = None);
    let queue = overview.queue.as_mut().unwrap();
    queue.oldest_ready = None;
    queue.waiting.iter_mut().for_each(|it| it.oldest = None);
    for problem in &mut overview.problems {
        if problem.task_name.is_empty() {
            problem.text.retain(|letter| !letter.is_ascii_digit());
        }
    }
    overview
}

fn without_causes(run: Option<run::Run>) -> Option<run::Run> {
    run.map(|run| run::Run {
        cause: Vec::new(),
        ..run
    })
}

async fn explanation(setup: &Setup, name: &str) -> Option<proto::Explanation> {
    let request = proto::ExplainTaskRequest {
        name: name.into(),
        ..proto::ExplainTaskRequest::default()
    };
    let explanation = setup.tasks.clone().explain_task(request).await.ok()?;
    let explanation = explanation.into_inner().explanation?;
    Some(proto::Explanation {
        current_run: without_causes(explanation.current_run),
        last_run: without_causes(explanation.last_run),
        ..explanation
    })
}

/// The answers of these keys, as callers get them.
async fn answers(setup: &Setup, keys: &[&str]) -> BTreeMap<String, String> {
    let mut answers = BTreeMap::new();
    for key in keys {
        let overview = async || ageless(overview(setup).await);
        let states = async || {
            let request = proto::ListCurrentStatesRequest::default();
            let states = setup.tasks.clone().list_current_states(request).await;
            let states = states.unwrap().into_inner().message().await;
            let mut states = states.unwrap().unwrap().states;
            states.sort_by(|a, b| a.task_name.cmp(&b.task_name));
            states
        };
        let answer = match key.split_once(':') {
            None if *key == "overview" => format!("{:?}", overview().await),
            None if *key == "workers" => format!("{:?}", overview().await.workers),
            None if *key == "approvals" => format!("{:?}", list(setup).await),
            None if *key == "causes" => {
                let request = run::ListCausesRequest {
                    page_size: 100,
                    ..run::ListCausesRequest::default()
                };
                let causes = setup.runs.clone().list_causes(request).await;
                format!("{:?}", causes.unwrap().into_inner().causes)
            }
            Some(("task", name)) => {
                let state = proto::GetTaskStateRequest {
                    name: name.into(),
                    include_events: true,
                };
                let state = setup.tasks.clone().get_task_state(state).await.ok();
                let state = state.map(tonic::Response::into_inner);
                let task = setup.get(name).await;
                format!("{task:?} {state:?} {:?}", explanation(setup, name).await)
            }
            Some(("run", id)) => {
                let run = setup.run(id).await.ok();
                format!("{:?}", without_causes(run))
            }
            _ => format!("{:?}", states().await),
        };
        answers.insert((*key).to_owned(), answer);
    }
    answers
}

/// Numbers that look random, the same for each seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// Writes, states of views and workers, and time, in any order.
struct Changes {
    timed: Timed,
    dice: Dice,
    leases: Vec<run::Lease>,
    workers: u64,
}

impl Changes {
    /// Makes one change, and returns its name.
    async fn step(&mut self) -> &'static str {
        let Timed { setup, clock, .. } = &self.timed;
        match self.dice.below(12) {
            0 | 1 => {
                let port = i64::try_from(self.dice.below(9000)).unwrap();
                setup.watcher.show(vec![instance("w", port)]);
                "an instance changes"
            }
            2 | 3 => match setup.acquire(SHORT).await {
                Some(lease) if lease.asks_permission => {
                    asks(setup, &lease, &destroys(RED)).await;
                    drop(setup.complete(&lease, interrupted()).await);
                    "a run waits for consent"
                }
                Some(lease) => {
                    self.leases.push(lease);
                    "a run is leased"
                }
                None => "no run is due",
            },
            4 | 5 => {
                let Some(lease) = self.leases.pop() else {
                    return "no run is leased";
                };
                let outcome = match self.dice.below(2) {
                    0 => applied(),
                    _ => failed("the port is taken"),
                };
                drop(setup.complete(&lease, outcome).await);
                "a run ends"
            }
            6 => {
                if let Some(lease) = self.leases.last() {
                    drop(setup.renew(lease).await);
                }
                "a lease is renewed"
            }
            7 => {
                let enabled = self.dice.below(2) == 0;
                drop(setup.update("t", Some(enabled), RunMode::Unspecified).await);
                "a task is switched"
            }
            8 => {
                self.workers += 1;
                let worker = worker::Worker {
                    id: format!("worker-{}", self.workers % 3),
                    host: "h".into(),
                    slots: 1,
                    draining: self.dice.below(3) == 0,
                    ..worker::Worker::default()
                };
                setup.heartbeat(worker).await;
                "a worker sends a heartbeat"
            }
            9 => {
                match self.dice.below(2) {
                    0 => setup.watcher.fail("web", "no route to consul"),
                    _ => setup.watcher.mend("web"),
                }
                "a view fails or is mended"
            }
            10 => {
                for approval in list(setup).await.approvals {
                    let lease = run::Lease {
                        run_id: approval.run_id,
                        ..run::Lease::default()
                    };
                    drop(decide(setup, &lease, &approval.effect, self.dice.below(2) == 0).await);
                }
                "effects are decided"
            }
            _ => {
                clock.advance(Duration::from_secs(16));
                "time passes"
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_changes_whenever_its_answer_does() {
    let tasks = vec![task("t"), ruled("asks", ApprovalRule::Always)];
    let timed = timed(tasks).await;
    timed.setup.watcher.show(vec![instance("w", 1)]);
    let id = timed
        .setup
        .until(async |setup| explanation(setup, "t").await?.current_run)
        .await
        .id;
    let run = format!("run:{id}");
    let keys = [
        "overview",
        "tasks",
        "grid:0",
        "task:t",
        "task:asks",
        "task:none",
        &run,
        "approvals",
        "workers",
        "causes",
    ];
    let following = Following::start(&timed.setup, &keys, &[]).await;
    let mut changes = Changes {
        timed,
        dice: Dice(7),
        leases: Vec::new(),
        workers: 0,
    };
    let mut known: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut of_versions: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut step = "the beginning";
    for _ in 0..=STEPS {
        let deadline = Instant::now() + SOON;
        loop {
            let setup = &changes.timed.setup;
            let (before, now) = (answers(setup, &keys).await, answers(setup, &keys).await);
            let versions = following.told().newest;
            let lags = |key: &&String| {
                let (answer, version) = (&now[*key], &versions[*key]);
                let stays = known.get(*key).is_some_and(|known| known.1 == *version);
                let same = known.get(*key).is_some_and(|known| known.0 == *answer);
                let told = of_versions.get(&((*key).clone(), version.clone()));
                stays && !same || told.is_some_and(|told| told != answer)
            };
            let late = now.keys().find(lags);
            if before == now && late.is_none() {
                for (key, answer) in now {
                    let version = versions[&key].clone();
                    of_versions.insert((key.clone(), version.clone()), answer.clone());
                    known.insert(key, (answer, version));
                }
                break;
            }
            assert!(
                Instant::now() < deadline,
                "{step}: {:?} is not told: {:?}, before {:?}",
                late,
                late.map(|key| &now[key]),
                late.and_then(|key| known.get(key)),
            );
            sleep(Duration::from_millis(50)).await;
        }
        step = changes.step().await;
    }
    let mut times: BTreeMap<String, Vec<Instant>> = BTreeMap::new();
    for (key, at, _) in following.told().events {
        times.entry(key).or_default().push(at);
    }
    for (key, times) in times {
        let (count, span) = (times.len() as u64, times[times.len() - 1] - times[0]);
        assert!(count <= span.as_secs() + 2, "{key}: {count} in {span:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ages_change_no_version_and_what_becomes_of_them_does() {
    let timed = timed(vec![task("t")]).await;
    let setup = &timed.setup;
    let worker = worker::Worker {
        id: "w".into(),
        host: "h".into(),
        slots: 1,
        ..worker::Worker::default()
    };
    setup.watcher.show(vec![instance("w", 1)]);
    setup.applied(&setup.acquired().await).await;
    setup.watcher.stand_still(Some(Duration::from_secs(40)));
    setup.heartbeat(worker).await;
    let keys = [
        "overview",
        "tasks",
        "task:t",
        "approvals",
        "workers",
        "causes",
    ];
    let following = Following::start(setup, &keys, &[]).await;
    let of_some = Following::start(setup, &["workers", "tasks"], &["t"]).await;
    following.settled().await;
    let before = overview(setup).await;
    timed.clock.advance(Duration::from_secs(4));
    setup.watcher.stand_still(Some(Duration::from_secs(44)));
    sleep(Duration::from_secs(3)).await;
    let after = overview(setup).await;
    assert_ne!(before.problems, after.problems, "ages are shown");
    assert_ne!(before.workers, after.workers);
    assert_eq!(following.told().events, [], "ages change nothing");
    timed.clock.advance(Duration::from_secs(12));
    following.event("workers", IN_TIME).await;
    following.event("overview", IN_TIME).await;
    of_some.event("workers", IN_TIME).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_is_told_of_visible_tasks_only() {
    let setup = Setup::new(vec![task("edge"), task("web-1")], Duration::from_mins(1)).await;
    let keys = ["tasks", "grid:0", "causes", "approvals"];
    let of_web = Following::start(&setup, &keys, &["web-*"]).await;
    let of_all = Following::start(&setup, &keys, &[]).await;
    of_all.settled().await;
    of_web.settled().await;
    for key in ["tasks", "grid:0", "causes"] {
        let versions = [&of_web, &of_all].map(|it| it.told().newest[key].clone());
        assert_ne!(versions[0], versions[1], "{key}: the answers differ");
    }
    let update = setup
        .update("edge", Some(false), RunMode::Unspecified)
        .await;
    update.unwrap();
    of_all.event("tasks", SOON).await;
    of_all.settled().await;
    assert_eq!(of_web.told().events, []);
    let update = setup
        .update("web-1", Some(false), RunMode::Unspecified)
        .await;
    update.unwrap();
    of_web.event("tasks", SOON).await;
    of_web.event("grid:0", SOON).await;
    of_web.event("causes", SOON).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_that_have_changed_are_named() {
    let tasks = (0..120).map(|number| task(&format!("t{number:03}")));
    let setup = Setup::new(tasks.collect(), Duration::from_mins(1)).await;
    let following = Following::start(&setup, &["tasks", "grid:0", "grid:1", "grid:7"], &[]).await;
    let first = following.told();
    let first = first.events.iter().find(|event| event.0 == "tasks");
    assert_eq!(first.unwrap().2, [0, 1]);
    following.settled().await;
    let update = setup
        .update("t110", Some(false), RunMode::Unspecified)
        .await;
    update.unwrap();
    assert_eq!(following.event("tasks", SOON).await, [1]);
    following.event("grid:1", SOON).await;
    following.settled().await;
    // A task in the first group moves the second one.
    let disabled = proto::Task {
        enabled: false,
        ..declared("t000-a")
    };
    setup.created(disabled).await;
    following.event("grid:0", SOON).await;
    following.event("grid:1", SOON).await;
    following.settled().await;
    setup.delete("t000-a").await.unwrap();
    following.group(0, SOON).await;
}

#[tokio::test]
async fn a_quiet_minute_of_many_tasks_brings_no_version() {
    let tasks = (0..10_000).map(|number| TaskSpec {
        enabled: number < APPLIED,
        ..task(&format!("t{number:05}"))
    });
    let setup = Setup::new(tasks.collect(), Duration::from_mins(1)).await;
    setup.watcher.show(vec![instance("w", 1)]);
    for _task in 0..APPLIED {
        let lease = setup.acquired().await;
        setup.complete(&lease, applied()).await.unwrap();
    }
    let keys = [
        "overview",
        "tasks",
        "grid:0",
        "grid:99",
        "task:t00007",
        "approvals",
        "workers",
        "causes",
    ];
    let following = Following::start(&setup, &keys, &[]).await;
    following.settled().await;
    sleep(Duration::from_mins(1)).await;
    assert_eq!(following.told().events, []);
    let disabled = setup.update("t00007", Some(false), RunMode::Unspecified);
    disabled.await.unwrap();
    following.event("task:t00007", SOON).await;
}

#[tokio::test]
async fn other_keys_are_refused() {
    let setup = Setup::new(Vec::new(), Duration::from_mins(1)).await;
    let many: Vec<String> = (0..65).map(|group| format!("grid:{group}")).collect();
    for keys in [vec![], vec!["events".to_owned()], many] {
        let request = FollowRequest {
            keys,
            ..FollowRequest::default()
        };
        let refused = setup.follow.clone().follow(request).await;
        assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
    }
}
