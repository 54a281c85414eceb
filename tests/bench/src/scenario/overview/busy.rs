//! Changes beside callers who ask for the overview and for the states of all tasks, and beside nobody.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout_at};

use super::followers::Followers;
use crate::access::Access;
use crate::arguments::{Modules, OverviewArguments};
use crate::cluster::{Cluster, ClusterSettings};
use crate::http_client::HttpClient;
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::members::Members;
use crate::played::hands::Hands;
use crate::played::played_watcher::PlayedWatcher;
use crate::runs::Runs;
use crate::site::services;
use crate::stage::{Plan, Stage};

/// Slots for the first pass, and for the changes.
const SLOTS: u32 = 16;

/// Time between two changes.
const CHANGE: Duration = Duration::from_millis(20);

const CALLERS: usize = 10;

/// What each caller asks in turn.
const PATHS: [&str; 2] = ["/v1/overview", "/v1/overview/tasks"];

/// Time before each measurement, whose changes do not count.
const WARM_UP: Duration = Duration::from_secs(2);

/// Longest wait for the runs of the last changes.
const REST: Duration = Duration::from_mins(1);

pub(super) async fn run(stage: &mut Stage, options: &OverviewArguments) -> Result<Vec<Metric>> {
    let tasks = options.tasks;
    let plan = Plan {
        name: "overview",
        tasks,
        modules: Modules::Shared,
        cluster: Some(ClusterSettings::default()),
        access: Access::Open,
    };
    let site = stage.new_site_on(plan, tasks).await?.with_long_names()?;
    let watcher = PlayedWatcher::with_scheduler(stage, &site, 1).await?;
    let cluster = site.cluster()?;
    stage.launch(&site, &Cluster::gateway())?;
    let scheduler = cluster.scheduler_address(0);
    let channel = cts_rpc::connect(scheduler)?;
    say("first pass");
    Members::new(channel.clone()).ready(tasks).await?;
    let mut hands = Hands::start(scheduler, SLOTS).await?;
    hands.all(tasks).await?;
    let mut changes = Changes {
        watcher,
        runs: Runs::follow(channel).await?,
        pairs: services(tasks).zip(site.tasks().iter().cloned()).collect(),
        next: 0,
        sent: HashMap::new(),
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, site.api_port()));
    let time = Duration::from_secs(options.seconds.into());
    let mut rounds = Vec::new();
    for round in 1..=options.rounds {
        let alone = changes.measure(time).await?;
        let callers = Callers::start(address, options.pause());
        let beside = changes.measure(time).await?;
        let answers = callers.end().await?;
        let ratio = beside.percentile(99) / alone.percentile(99);
        let followers = Followers::start(address).await?;
        let followed = changes.measure(time).await?;
        let [of_overview, of_tasks] = followers.end()?;
        let followed_ratio = followed.percentile(99) / alone.percentile(99);
        say(&format!(
            "round {round} of {}: change to queued p99 {:.1} ms alone, {:.1} ms beside callers, whose answers took {:.1} ms",
            options.rounds,
            alone.percentile(99),
            beside.percentile(99),
            answers.percentile(99),
        ));
        say(&format!(
            "{:.1} ms beside followers, who got {of_overview:.0} and {of_tasks:.0} bytes a second",
            followed.percentile(99),
        ));
        rounds.push(vec![
            Metric::new("queued_alone_p50", alone.percentile(50), "ms"),
            Metric::new("queued_alone_p99", alone.percentile(99), "ms"),
            Metric::new("queued_beside_p50", beside.percentile(50), "ms"),
            Metric::new("queued_beside_p99", beside.percentile(99), "ms"),
            Metric::new("queued_p99_ratio", ratio, "x"),
            Metric::new("queued_followed_p50", followed.percentile(50), "ms"),
            Metric::new("queued_followed_p99", followed.percentile(99), "ms"),
            Metric::new("queued_followed_p99_ratio", followed_ratio, "x"),
            Metric::new("follower_of_overview", of_overview, "B/s"),
            Metric::new("follower_of_tasks", of_tasks, "B/s"),
            Metric::new("answer_p50", answers.percentile(50), "ms"),
            Metric::new("answer_p99", answers.percentile(99), "ms"),
        ]);
    }
    Ok(crate::measures::report::median_of_rounds(&rounds))
}

/// Changes services in turn, and follows the runs that these lead to.
struct Changes {
    watcher: PlayedWatcher,
    runs: Runs,
    /// Each service with its task.
    pairs: Vec<(String, String)>,
    next: usize,
    /// Changes whose run is not queued yet, by task.
    sent: HashMap<String, Moment>,
}

impl Changes {
    /// The times from changes to their queued runs.
    async fn measure(&mut self, time: Duration) -> Result<Sample> {
        self.follow(WARM_UP).await?;
        self.follow(time).await
    }

    async fn follow(&mut self, time: Duration) -> Result<Sample> {
        let mut sample = Sample::default();
        let mut ticks = interval(CHANGE);
        let end = Instant::now() + time;
        while Instant::now() < end {
            tokio::select! {
                biased;
                queued = self.runs.queued_task() => self.note(queued?, &mut sample),
                _ = ticks.tick() => self.change(),
            }
        }
        while !self.sent.is_empty() {
            let queued = timeout_at(end + REST, self.runs.queued_task()).await;
            let queued = queued.context("a change leads to no run")?;
            self.note(queued?, &mut sample);
        }
        ensure!(sample.percentile(50).is_finite(), "nothing was queued");
        Ok(sample)
    }

    fn change(&mut self) {
        let (service, task) = &self.pairs[self.next];
        self.next = (self.next + 1) % self.pairs.len();
        let at = self.watcher.change(service);
        self.sent.insert(task.clone(), at);
    }

    fn note(&mut self, (task, at): (String, Moment), sample: &mut Sample) {
        if let Some(sent) = self.sent.remove(&task) {
            sample.add_milliseconds(at.since(sent));
        }
    }
}

/// Callers who ask again and again. They end when this is dropped.
struct Callers {
    asking: JoinSet<Result<Sample>>,
    end: watch::Sender<bool>,
}

impl Callers {
    fn start(address: SocketAddr, pause: Duration) -> Self {
        let (end, ended) = watch::channel(false);
        let mut asking = JoinSet::new();
        for _ in 0..CALLERS {
            let ended = ended.clone();
            asking.spawn(async move {
                let mut clients = Vec::new();
                for path in PATHS {
                    clients.push(HttpClient::connect(address, path, None).await?);
                }
                let mut answers = Sample::default();
                while !*ended.borrow() {
                    for client in &mut clients {
                        let asked = Moment::now();
                        client.ask().await?;
                        answers.add_milliseconds(Moment::now().since(asked));
                        sleep(pause).await;
                    }
                }
                Ok(answers)
            });
        }
        Self { asking, end }
    }

    async fn end(mut self) -> Result<Sample> {
        self.end.send_replace(true);
        let mut all = Sample::default();
        while let Some(answers) = self.asking.join_next().await {
            all.extend(&answers??);
        }
        Ok(all)
    }
}
