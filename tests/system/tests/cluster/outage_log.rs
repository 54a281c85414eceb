//! An outage in the log: a line when it begins, one each minute, and one when it is over, for each process
//! (docs/operations.md#outages-in-the-log).

use std::sync::LazyLock;
use std::time::Duration;

use cts_testkit::{ConsulAgent, Postgres, eventually};
use cts_tests::{Api, Backend, Cluster, DEADLINE, Plan, RECORDER, Service, Site, task};
use regex::Regex;
use tokio::time::{Instant, interval};

use crate::cluster::scene::{POLL, Scene};

/// Length of an outage.
const OUTAGE: Duration = Duration::from_secs(40);

/// Time for an answer of the API during an outage, on a busy machine.
const ANSWER: Duration = Duration::from_secs(2).saturating_add(POLL);

/// Lengths of the logs at one moment.
struct Marks(Vec<(Service, usize)>);

impl Marks {
    fn of(cluster: &Cluster) -> Self {
        let marks = Service::ALL.map(|service| (service, cluster.output(service, 0).len()));
        Self(marks.into())
    }

    /// Further lines above DEBUG of each service, without the parts that differ between two runs.
    fn lines(&self, cluster: &Cluster) -> String {
        let mut lines = Vec::new();
        for (service, from) in &self.0 {
            lines.push(format!("{service}:"));
            let of_service = shown(&cluster.output(*service, 0)[*from..]);
            lines.extend(of_service.iter().map(|line| format!("  {line}")));
        }
        lines.join("\n")
    }

    /// Waits until the service has logged the text.
    async fn until_logged(&self, cluster: &Cluster, service: Service, text: &str) {
        let from = self.0.iter().find(|(of, _)| *of == service).unwrap().1;
        eventually(DEADLINE, async || {
            let output = cluster.output(service, 0);
            let is_logged = output[from..].contains(text);
            is_logged.then_some(()).ok_or(output)
        })
        .await;
    }
}

fn shown(output: &str) -> Vec<String> {
    static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            (r"^\S+ \[", "["),
            (r"127\.0\.0\.1:\d+", "ADDRESS"),
            (
                r"is unreachable: .*; since \d\d:\d\d:\d\d;",
                "is unreachable: REASON; since TIME;",
            ),
            (r"after \d+s", "after SECONDS"),
            (r"\b(failed_calls|views)=\d+", "$1=NUMBER"),
        ]
        .map(|(pattern, text)| (Regex::new(pattern).unwrap(), text))
        .into()
    });
    static IS_SHOWN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\d{4}-\S+ \[(INFO|WARN|ERROR)\] ").unwrap());
    let lines = output.lines().filter(|line| IS_SHOWN.is_match(line));
    let lines = lines.map(|line| {
        RULES.iter().fold(line.to_owned(), |line, (rule, text)| {
            rule.replace_all(&line, *text).into_owned()
        })
    });
    lines.collect()
}

/// Asks the API every second during an outage, and returns the last answer. Each comes in time.
async fn ask_during_outage(api: &Api, path: &str) -> (u16, serde_json::Value) {
    let begun = Instant::now();
    let mut ticks = interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
        let asked = Instant::now();
        let answer = api.ask(path).await.unwrap();
        let took = asked.elapsed();
        assert!(took < ANSWER, "{path} took {took:?}: {answer:?}");
        if begun.elapsed() > OUTAGE {
            return answer;
        }
    }
}

#[tokio::test]
async fn an_outage_of_postgres_is_a_line_of_each_process_and_no_error_for_each_request() {
    let mut postgres = Postgres::start().await;
    let url = postgres.create_database().await;
    let site = Site::new();
    site.write_database(&url);
    site.migrate().await;
    let mut plan = Plan::of(1, 1, 1, 1);
    plan.database = Some(url);
    plan.session_ttl = Duration::from_secs(15);
    let mut scene = Scene::start_at(site, plan).await;
    scene.settled_events().await;
    let marks = Marks::of(&scene.cluster);
    let api = scene.cluster.api(0);

    postgres.stop().await;
    let (tasks, health) = tokio::join!(
        ask_during_outage(&api, "/v1/status/tasks"),
        ask_during_outage(&api, "/v1/health"),
    );
    assert_eq!((tasks.0, health.0), (503, 503), "{tasks:?} {health:?}");
    postgres.start_again().await;
    let back = "is reachable again";
    for service in [Service::Scheduler, Service::Worker, Service::Gateway] {
        marks.until_logged(&scene.cluster, service, back).await;
    }
    scene.wait_until_api_answers(0).await;
    let lines = marks.lines(&scene.cluster);
    insta::assert_snapshot!(lines);

    // Nothing complains afterwards.
    let marks = Marks::of(&scene.cluster);
    scene.change_is_applied().await;
    scene.settled_events().await;
    let lines = marks.lines(&scene.cluster);
    assert!(
        !lines.contains("[WARN]") && !lines.contains("[ERROR]"),
        "{lines}"
    );
}

#[tokio::test]
async fn an_outage_of_consul_is_a_line_however_many_views_there_are() {
    let mut consul = ConsulAgent::start_durable().await;
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let names: Vec<String> = (1..=60).map(|number| format!("service-{number}")).collect();
    for name in &names {
        consul.register_service(name, name, 1, &[], &[]).await;
    }
    let services: Vec<&str> = names.iter().map(String::as_str).collect();
    let pool = task("pool", "./modules/pool", &services, "");
    site.configure(&consul.address(), Backend::Shared, &pool);
    let cluster = Cluster::start(&site, Plan::of(1, 1, 1, 1)).await;
    let api = cluster.api(0);
    api.wait_for_events("pool", 1).await;
    let marks = Marks::of(&cluster);

    consul.stop().await;
    let (status, body) = ask_during_outage(&api, "/v1/status/tasks/pool").await;
    assert_eq!(status, 200, "{body}");
    consul.restart().await;
    let back = "is reachable again";
    marks.until_logged(&cluster, Service::Watcher, back).await;
    let lines = marks.lines(&cluster);
    insta::assert_snapshot!(lines);

    consul
        .register_service("service-1", "another", 2, &[], &[])
        .await;
    api.wait_for_events("pool", 2).await;
}
