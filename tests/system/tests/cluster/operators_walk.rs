//! A walk as operators do it: `cts status` and the logs alone show what has happened.

use std::time::Duration;

use cts_testkit::{Postgres, eventually};
use cts_tests::{Cluster, DEADLINE, Exit, Plan, Service, Site, assert_successful};
use regex::Regex;
use serde_json::Value;
use tokio::time::{Instant, interval};

use crate::cluster::scene::Scene;

/// Length of the outage of Postgres.
const OUTAGE: Duration = Duration::from_secs(45);

/// Time for a command during the outage.
const ANSWER: Duration = Duration::from_secs(4);

/// The problem of a lost worker.
const SILENT: &str = " has been silent for ";

/// Three workers, two schedulers, and the things that an operator has: the command line and the logs.
struct Walk {
    postgres: Postgres,
    scene: Scene,
    commands: usize,
}

impl Walk {
    async fn start() -> Self {
        let postgres = Postgres::start().await;
        let url = postgres.create_database().await;
        let site = Site::new();
        site.write_database(&url);
        site.migrate().await;
        let mut plan = Plan::of(1, 2, 3, 1);
        plan.database = Some(url);
        plan.session_ttl = Duration::from_secs(5);
        let scene = Scene::start_at(site, plan).await;
        Self {
            postgres,
            scene,
            commands: 0,
        }
    }

    fn cluster(&mut self) -> &mut Cluster {
        &mut self.scene.cluster
    }

    async fn cts(&mut self, arguments: &[&str]) -> Exit {
        self.commands += 1;
        let address = self.scene.cluster.api(0).address();
        let address = format!("-http-addr={address}");
        let arguments = [arguments, &[&address]].concat();
        let log = format!("walk-{}.log", self.commands);
        self.scene.site.run("cts", &arguments, &log).wait().await
    }

    /// Waits until `cts status` fits.
    async fn until_status(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        let mut ticks = interval(Duration::from_secs(1));
        loop {
            ticks.tick().await;
            let exit = self.cts(&["status", "-o=json"]).await;
            match serde_json::from_str(&exit.output) {
                Ok(status) if exit.code == Some(0) && fits(&status) => return status,
                _ => assert!(Instant::now() < deadline, "{}", exit.output),
            }
        }
    }

    /// Waits for a line of a process after the first `from` bytes of its log, and returns the first capture of the
    /// pattern in it.
    async fn until_logged(&self, of: (Service, usize), from: usize, pattern: &str) -> String {
        let pattern = Regex::new(pattern).unwrap();
        eventually(DEADLINE, async || {
            let output = self.scene.cluster.output(of.0, of.1);
            let found = pattern.captures(&output[from..]).map(|found| {
                let group = found.get(1).or_else(|| found.get(0));
                group.map_or_else(String::new, |group| group.as_str().to_owned())
            });
            found.ok_or(format!("{pattern} is not in {output}"))
        })
        .await
    }

    fn length(&self, (service, index): (Service, usize)) -> usize {
        self.scene.cluster.output(service, index).len()
    }

    /// One more instance, whose apply goes on until it is released; returns the worker that works on it.
    async fn begin_apply(&mut self) -> usize {
        self.scene.site.hold();
        self.scene.change().await;
        let ids = self.scene.ids();
        let terraform = self.scene.site.wait_for_step("pool", "begin", &ids).await;
        self.scene.cluster.worker_of(terraform)
    }

    async fn end_apply(&mut self) {
        self.scene.site.release();
        self.scene.wait_until_applied().await;
        self.scene.settled_events().await;
    }
}

/// Workers in a condition.
fn workers(status: &Value, condition: &str) -> Vec<String> {
    let all = status["workers"].as_array().into_iter().flatten();
    let fitting = all.filter(|worker| worker["condition"] == condition);
    fitting
        .filter_map(|worker| worker["id"].as_str().map(str::to_owned))
        .collect()
}

fn leads(status: &Value, scheduler: usize) -> bool {
    let all = status["members"].as_array();
    all.into_iter()
        .flatten()
        .any(|member| member["leader"] == true && member["id"] == format!("scheduler-{scheduler}"))
}

/// Whether everything is well.
fn is_quiet(status: &Value) -> bool {
    let problems = status["problems"].as_array();
    problems.is_none_or(Vec::is_empty) && status["tasks"]["successful"] == 1
}

fn text(problem: &Value) -> &str {
    problem["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn the_status_and_the_logs_alone_show_what_has_happened() {
    let mut walk = Walk::start().await;
    let status = walk.until_status(is_quiet).await;
    assert_eq!(workers(&status, "active").len(), 3, "{status}");

    // A fourth worker.
    let added = walk.cluster().add(Service::Worker);
    walk.cluster().run(Service::Worker, added).await;
    let id = walk.cluster().worker_id(added).await;
    walk.until_status(|status| workers(status, "active").contains(&id))
        .await;

    lose_a_worker(&mut walk).await;
    lose_the_leader(&mut walk).await;
    lose_postgres(&mut walk).await;
    roll_everything(&mut walk).await;
    drain_a_worker(&mut walk).await;

    let status = walk.until_status(is_quiet).await;
    assert_eq!(status["queue"]["queued"], 0, "{status}");
    assert_successful(&walk.scene.settled_events().await);
    walk.scene.assert_no_overlap();
}

/// Kills a worker in mid-apply: the leader names it with its task and run, and so does the status.
async fn lose_a_worker(walk: &mut Walk) {
    let leader = (Service::Scheduler, walk.cluster().wait_for_leader().await);
    let from = walk.length(leader);
    let killed = walk.begin_apply().await;
    let id = walk.cluster().worker_id(killed).await;
    walk.until_status(|status| status["tasks"]["running"] == 1)
        .await;
    walk.cluster().kill(Service::Worker, killed).await;
    let line = r"a worker was lost.* task_name=pool run\.id=(\S+)";
    let run = walk.until_logged(leader, from, line).await;
    let line = format!(r"a worker was lost.* worker\.id={}", regex::escape(&id));
    walk.until_logged(leader, from, &line).await;
    let status = walk
        .until_status(|status| workers(status, "lost") == [id.clone()])
        .await;
    let problem = text(&status["problems"][0]);
    assert!(
        problem.contains(&id) && problem.contains(SILENT),
        "{status}"
    );
    walk.end_apply().await;
    let shown = walk.cts(&["runs", "show", &run]).await;
    shown.assert_code(0).says(["pool", "succeeded"]);
    // Its next life takes its place.
    walk.cluster().run(Service::Worker, killed).await;
    walk.until_status(|status| workers(status, "lost").is_empty() && is_quiet(status))
        .await;
}

/// Kills the leader: the next one names it, and the status has the next one.
async fn lose_the_leader(walk: &mut Walk) {
    let killed = walk.cluster().wait_for_leader().await;
    let next = (Service::Scheduler, 1 - killed);
    let from = walk.length(next);
    walk.cluster().kill(Service::Scheduler, killed).await;
    let line = format!("the leader was lost.* leader=scheduler-{killed}");
    walk.until_logged(next, from, &line).await;
    let line = format!("acquired leadership lock: id=scheduler-{}", next.1);
    walk.until_logged(next, from, &line).await;
    walk.until_status(|status| leads(status, next.1)).await;
    walk.scene.change_is_applied().await;
    walk.cluster().run(Service::Scheduler, killed).await;
}

/// Stops Postgres: every process says that, and for how long; commands say it at once.
async fn lose_postgres(walk: &mut Walk) {
    let processes = [(Service::Scheduler, 0), (Service::Scheduler, 1)];
    let from = processes.map(|of| walk.length(of));
    walk.postgres.stop().await;
    let stopped = Instant::now();
    let mut times = Vec::new();
    let mut ticks = interval(Duration::from_secs(5));
    while stopped.elapsed() < OUTAGE {
        ticks.tick().await;
        let asked = Instant::now();
        let status = walk.cts(&["status"]).await;
        assert_ne!(status.code, Some(0), "{}", status.output);
        times.push(asked.elapsed());
    }
    // The others are left to a machine that is overloaded for a moment.
    let prompt = times.iter().filter(|took| **took < ANSWER).count();
    assert!(prompt * 4 >= times.len() * 3, "{times:?}");
    // A Postgres that stops may answer once more after the first failure.
    let until = processes.map(|of| walk.length(of));
    walk.postgres.start_again().await;
    for (of, (from, until)) in processes.into_iter().zip(from.into_iter().zip(until)) {
        let line = r"Postgres at \S+ is unreachable: .*; since \d\d:\d\d:\d\d";
        walk.until_logged(of, from, line).await;
        let line = r"Postgres at \S+ is reachable again after (\d+)s";
        let seconds: u64 = walk.until_logged(of, until, line).await.parse().unwrap();
        assert!(seconds + 5 >= OUTAGE.as_secs(), "{seconds}");
    }
    walk.until_status(is_quiet).await;
    walk.scene.change_is_applied().await;
}

/// Restarts every process in order, with a change each time.
async fn roll_everything(walk: &mut Walk) {
    for (service, index) in walk.cluster().running() {
        walk.scene.change().await;
        walk.cluster().restart(service, index).await;
        walk.scene.wait_until_applied().await;
    }
    walk.until_status(is_quiet).await;
}

/// Drains a worker in mid-apply: the status and its log say that it drains, and the schedulers that it has left.
async fn drain_a_worker(walk: &mut Walk) {
    let drained = walk.begin_apply().await;
    let id = walk.cluster().worker_id(drained).await;
    let of = (Service::Worker, drained);
    let from = walk.length(of);
    walk.cts(&["workers", "drain", &id]).await.assert_code(0);
    walk.until_logged(of, from, "the scheduler wants this worker to drain")
        .await;
    walk.until_status(|status| workers(status, "draining") == [id.clone()])
        .await;
    walk.end_apply().await;
    let exit = walk.cluster().take(Service::Worker, drained).wait().await;
    exit.assert_code(0).says(["graceful shutdown"]);
    walk.until_status(|status| workers(status, "draining").is_empty())
        .await;
    let left = format!(r"a worker has left: worker\.id={}", regex::escape(&id));
    let left = Regex::new(&left).unwrap();
    assert!(left.is_match(&walk.scene.cluster.all_output()));
}
