//! Many tasks, each on a service of its own; services that change in turn; and the times until their runs are queued.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::time::{Instant, interval, timeout_at};

use crate::access::Access;
use crate::arguments::Modules;
use crate::cluster::{Cluster, ClusterSettings};
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::members::Members;
use crate::played::hands::Hands;
use crate::played::played_watcher::PlayedWatcher;
use crate::runs::Runs;
use crate::site::{Site, services};
use crate::stage::{Plan, Stage};

/// Slots for the first pass, and for the changes.
const SLOTS: u32 = 16;

/// Time between two changes.
const CHANGE: Duration = Duration::from_millis(20);

/// Time before each measurement, whose changes do not count.
const WARM_UP: Duration = Duration::from_secs(2);

/// Longest wait for the runs of the last changes.
const REST: Duration = Duration::from_mins(1);

/// Starts a scheduler and a gateway over tasks with long names, with more `configuration`; waits until the first run of
/// each task is queued.
pub(crate) async fn queued_tasks(
    stage: &mut Stage,
    tasks: u32,
    configuration: &str,
) -> Result<(Site, PlayedWatcher)> {
    say("first pass");
    let plan = Plan {
        name: "changes",
        tasks,
        modules: Modules::Shared,
        cluster: Some(ClusterSettings::default()),
        access: Access::Open,
    };
    let site = stage.new_site_on(plan, tasks).await?.with_long_names()?;
    site.configure(configuration)?;
    let watcher = PlayedWatcher::with_scheduler(stage, &site, 1).await?;
    stage.launch(&site, &Cluster::gateway())?;
    let scheduler = cts_rpc::connect(site.cluster()?.scheduler_address(0))?;
    Members::new(scheduler).ready(tasks).await?;
    Ok((site, watcher))
}

/// The figures of changes without a load and beside it.
pub(crate) fn compared(alone: &Sample, beside: &Sample) -> Vec<Metric> {
    let ratio = beside.percentile(99) / alone.percentile(99);
    vec![
        Metric::new("queued_alone_p50", alone.percentile(50), "ms"),
        Metric::new("queued_alone_p99", alone.percentile(99), "ms"),
        Metric::new("queued_beside_p50", beside.percentile(50), "ms"),
        Metric::new("queued_beside_p99", beside.percentile(99), "ms"),
        Metric::new("queued_p99_ratio", ratio, "x"),
    ]
}

/// Changes services in turn, and follows the runs that these lead to.
pub(crate) struct Changes {
    watcher: PlayedWatcher,
    runs: Runs,
    /// Each service with its task.
    pairs: Vec<(String, String)>,
    next: usize,
    /// Changes whose run is not queued yet, by task.
    sent: HashMap<String, Moment>,
    _hands: Hands,
}

impl Changes {
    /// Lets played workers take all runs from now on, and waits for those that are `queued`.
    pub(crate) async fn start(site: &Site, watcher: PlayedWatcher, queued: u32) -> Result<Self> {
        let scheduler = site.cluster()?.scheduler_address(0);
        let mut hands = Hands::start(scheduler, SLOTS).await?;
        hands.all(queued).await?;
        let tasks = site.tasks();
        Ok(Self {
            watcher,
            runs: Runs::follow(cts_rpc::connect(scheduler)?).await?,
            pairs: services(u32::try_from(tasks.len())?)
                .zip(tasks.iter().cloned())
                .collect(),
            next: 0,
            sent: HashMap::new(),
            _hands: hands,
        })
    }

    /// The times from changes to their queued runs.
    pub(crate) async fn measure(&mut self, time: Duration) -> Result<Sample> {
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
