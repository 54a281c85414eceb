//! `cts status`, `cts task list`, and pages and the grid of tasks, over many tasks with long names.

mod busy;
mod followers;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use crate::arguments::OverviewArguments;
use crate::http_client::HttpClient;
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::members::Members;
use crate::played::askers;
use crate::played::changes::queued_tasks;
use crate::played::hands::Hands;
use crate::process::Launch;
use crate::site::{Site, services};
use crate::stage::Stage;

/// Slots for the first pass, which is not measured.
const SLOTS: u32 = 16;

/// A measured command, after its name in the metrics.
type MeasuredCommand = (&'static str, &'static [&'static str]);

const COMMANDS: [MeasuredCommand; 4] = [
    ("status", &["status"]),
    ("status_json", &["status", "-o", "json"]),
    ("task_list", &["task", "list"]),
    (
        "task_page",
        &["task", "list", "-search=edge", "-sort=since"],
    ),
];

/// Measured requests, each after its name in the metrics.
const REQUESTS: [(&str, &str); 3] = [
    ("grid", "/v1/overview/tasks?form=grid"),
    ("page", "/v1/overview/tasks?page=1"),
    (
        "searched_page",
        "/v1/overview/tasks?search=EDGE&state=successful,queued&sort=since&page=2",
    ),
];

/// Requests of each kind in a round.
const ASKED: u32 = 20;

/// Time before a request, after which no kept answer is new enough, so that the scheduler looks at its store.
const PAUSE: Duration = Duration::from_millis(150);

/// Measured if tasks wait.
const APPROVALS: MeasuredCommand = ("approvals_list", &["approvals", "list"]);

pub(super) async fn run(stage: &mut Stage, options: &OverviewArguments) -> Result<Vec<Metric>> {
    if options.busy {
        return busy::run(stage, options).await;
    }
    let tasks = options.tasks;
    let consent = if options.waiting > 0 {
        "approval = \"always\"\n"
    } else {
        ""
    };
    let (site, watcher) = queued_tasks(stage, tasks, consent).await?;
    let scheduler = site.cluster()?.scheduler_address(0);
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
    metrics.extend(ask(&site, "", options.rounds).await?);

    for service in services(tasks) {
        watcher.change(&service);
    }
    let members = Members::new(cts_rpc::connect(scheduler)?);
    members.ready(tasks).await?;
    metrics.extend(measure(stage, &site, "queued_", (&COMMANDS, options.rounds)).await?);
    metrics.extend(ask(&site, "queued_", options.rounds).await?);
    Ok(metrics)
}

/// Times every request on a connection of its own.
async fn ask(site: &Site, prefix: &str, rounds: u32) -> Result<Vec<Metric>> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, site.api_port()));
    let mut metrics = Vec::new();
    for (name, path) in REQUESTS {
        let mut client = HttpClient::connect(address, path, None).await?;
        let mut times = Sample::default();
        let mut bytes = 0;
        for _ in 0..rounds * ASKED {
            sleep(PAUSE).await;
            let asked = Moment::now();
            bytes = client.ask().await?;
            times.add_milliseconds(Moment::now().since(asked));
        }
        let name = format!("{prefix}{name}");
        let (median, most) = (times.median(), times.percentile(99));
        say(&format!(
            "{name}: {median:.1} ms, p99 {most:.1} ms, {bytes} bytes"
        ));
        metrics.extend([
            Metric::new(format!("{name}_p50"), median, "ms"),
            Metric::new(format!("{name}_p99"), most, "ms"),
            Metric::new(
                format!("{name}_bytes"),
                f64::from(u32::try_from(bytes)?),
                "B",
            ),
        ]);
    }
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
