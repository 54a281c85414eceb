//! Changes beside callers who ask for the overview and for the states of all tasks, and beside nobody.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Result;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::followers::Followers;
use crate::arguments::OverviewArguments;
use crate::http_client::HttpClient;
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::played::changes::{Changes, compared, queued_tasks};
use crate::stage::Stage;

const CALLERS: usize = 10;

/// What each caller asks in turn.
const PATHS: [&str; 2] = ["/v1/overview", "/v1/overview/tasks"];

pub(super) async fn run(stage: &mut Stage, options: &OverviewArguments) -> Result<Vec<Metric>> {
    let tasks = options.tasks;
    let (site, watcher) = queued_tasks(stage, tasks, "").await?;
    let mut changes = Changes::start(&site, watcher, tasks).await?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, site.api_port()));
    let time = Duration::from_secs(options.seconds.into());
    let mut rounds = Vec::new();
    for round in 1..=options.rounds {
        let alone = changes.measure(time).await?;
        let callers = Callers::start(address, options.pause());
        let beside = changes.measure(time).await?;
        let answers = callers.end().await?;
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
        let mut metrics = compared(&alone, &beside);
        metrics.extend([
            Metric::new("queued_followed_p50", followed.percentile(50), "ms"),
            Metric::new("queued_followed_p99", followed.percentile(99), "ms"),
            Metric::new("queued_followed_p99_ratio", followed_ratio, "x"),
            Metric::new("follower_of_overview", of_overview, "B/s"),
            Metric::new("follower_of_tasks", of_tasks, "B/s"),
            Metric::new("answer_p50", answers.percentile(50), "ms"),
            Metric::new("answer_p99", answers.percentile(99), "ms"),
        ]);
        rounds.push(metrics);
    }
    Ok(crate::measures::report::median_of_rounds(&rounds))
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
