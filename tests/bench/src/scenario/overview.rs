//! `cts status` and `cts task list` over many tasks.

mod busy;

use anyhow::Result;

use crate::access::Access;
use crate::arguments::{Modules, OverviewArguments};
use crate::cluster::{Cluster, ClusterSettings};
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::members::Members;
use crate::played::askers;
use crate::played::hands::Hands;
use crate::played::played_watcher::PlayedWatcher;
use crate::process::Launch;
use crate::site::{Site, services};
use crate::stage::{Plan, Stage};

/// Slots for the first pass, which is not measured.
const SLOTS: u32 = 16;

/// A measured command, after its name in the metrics.
type MeasuredCommand = (&'static str, &'static [&'static str]);

const COMMANDS: [MeasuredCommand; 3] = [
    ("status", &["status"]),
    ("status_json", &["status", "-o", "json"]),
    ("task_list", &["task", "list"]),
];

/// Measured if tasks wait.
const APPROVALS: MeasuredCommand = ("approvals_list", &["approvals", "list"]);

pub(super) async fn run(stage: &mut Stage, options: &OverviewArguments) -> Result<Vec<Metric>> {
    if options.busy {
        return busy::run(stage, options).await;
    }
    let tasks = options.tasks;
    let plan = Plan {
        name: "overview",
        tasks,
        modules: Modules::Shared,
        cluster: Some(ClusterSettings::default()),
        access: Access::Open,
    };
    let site = stage.new_site_on(plan, tasks).await?;
    if options.waiting > 0 {
        site.configure("approval = \"always\"\n")?;
    }
    let watcher = PlayedWatcher::with_scheduler(stage, &site, 1).await?;
    let cluster = site.cluster()?;
    stage.launch(&site, &Cluster::gateway())?;
    let scheduler = cluster.scheduler_address(0);
    let members = Members::new(cts_rpc::connect(scheduler)?);
    say("first pass");
    members.ready(tasks).await?;
    let waiting = options.waiting.min(tasks);
    askers::let_wait(scheduler, waiting).await?;
    let mut hands = Hands::start(scheduler, SLOTS).await?;
    hands.all(tasks - waiting).await?;
    drop(hands);
    if waiting > 0 {
        let commands = [&COMMANDS[..], &[APPROVALS]].concat();
        return measure(stage, &site, "", (&commands, options.rounds)).await;
    }
    let mut metrics = measure(stage, &site, "", (&COMMANDS, options.rounds)).await?;

    for service in services(tasks) {
        watcher.change(&service);
    }
    members.ready(tasks).await?;
    metrics.extend(measure(stage, &site, "queued_", (&COMMANDS, options.rounds)).await?);
    Ok(metrics)
}

/// Times every command from the start of its process to its end.
async fn measure(
    stage: &Stage,
    site: &Site,
    prefix: &str,
    (commands, rounds): (&[MeasuredCommand], u32),
) -> Result<Vec<Metric>> {
    let address = format!("127.0.0.1:{}", site.api_port());
    let mut metrics = Vec::new();
    for &(name, words) in commands {
        let name = format!("{prefix}{name}");
        let words = [words, &["-http-addr", &address]].concat();
        let launch = Launch::new(&name, &words);
        let mut seconds = Sample::default();
        for _ in 0..rounds {
            let started = Moment::now();
            let process = stage.start_in(site.path(), &launch)?;
            process.ended().await?;
            seconds.add(Moment::now().since(started).as_secs_f64());
        }
        say(&format!("{name}: {:.3} s", seconds.median()));
        metrics.push(Metric::new(
            format!("{name}_seconds"),
            seconds.median(),
            "s",
        ));
        metrics.push(Metric::new(
            format!("{name}_seconds_max"),
            seconds.percentile(100),
            "s",
        ));
    }
    Ok(metrics)
}
