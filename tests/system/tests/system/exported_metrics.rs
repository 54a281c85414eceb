//! Metrics that a process exports over OTLP (docs/telemetry.md#otlp), and those that exist from its start.

use std::collections::{BTreeMap, BTreeSet};

use cts_testkit::{Collector, ConsulAgent, Link, TcpProxy, attribute, eventually};
use cts_tests::{
    Backend, DEADLINE, Instance, RECORDER, Scrape, Shape, Site, documented_metrics, met, scrape,
    scrape_address, task,
};
use opentelemetry_proto::tonic::metrics::v1::ResourceMetrics;

/// Units and descriptions of exported metrics, by service and name.
type Exported = BTreeMap<(String, String), (String, String)>;

fn exported(metrics: &[ResourceMetrics]) -> Exported {
    let mut exported = Exported::new();
    for of_process in metrics {
        let resource = of_process.resource.as_ref().unwrap();
        let service = attribute(&resource.attributes, "service.name").unwrap();
        for metric in of_process
            .scope_metrics
            .iter()
            .flat_map(|scope| &scope.metrics)
        {
            let key = (service.to_owned(), metric.name.clone());
            exported.insert(key, (metric.unit.clone(), metric.description.clone()));
        }
    }
    exported
}

#[tokio::test]
async fn each_process_exports_its_documented_metrics() {
    let collector = Collector::start().await;
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = Site::new();
    site.write("modules/recorder/main.tf", RECORDER);
    let telemetry = format!(
        "telemetry {{\n  otlp {{\n    endpoint = \"{}\"\n    interval = \"1s\"\n    \
         headers = {{ authorization = \"Bearer hidden-word\" }}\n  }}\n}}\n",
        collector.url()
    );
    let pool = task("pool", "./modules/recorder", &["web"], "");
    site.configure(
        &consul.address(),
        Backend::Shared,
        &format!("{telemetry}{pool}"),
    );
    let instance = Instance::start(&site).await;
    instance.api.wait_for_events("pool", 1).await;
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    instance.api.wait_for_events("pool", 2).await;

    let services: BTreeSet<&str> = match Shape::of_this_run() {
        Shape::Embedded => BTreeSet::from(["start"]),
        Shape::Cluster => BTreeSet::from(["watcher", "scheduler", "worker", "gateway"]),
    };
    let documented = documented_metrics();
    let all = eventually(DEADLINE, async || {
        let all = exported(&collector.metrics());
        for service in &services {
            for metric in &documented {
                let is_of = *service == "start" || metric.is_of(service);
                let key = (format!("cts-{service}"), metric.otlp.clone());
                if is_of && !metric.may_be_missing && !all.contains_key(&key) {
                    return Err(format!("{key:?} is not exported"));
                }
            }
        }
        Ok(all)
    })
    .await;
    for ((service, name), (unit, description)) in &all {
        let metric = documented.iter().find(|metric| metric.otlp == *name);
        let metric = metric.unwrap_or_else(|| panic!("{service}: {name} is not documented"));
        assert!(description.ends_with('.'), "{name}: {description:?}");
        let suffix = match unit.as_str() {
            "s" => "_seconds",
            "By" => "_bytes",
            _ => "",
        };
        assert!(metric.prometheus.contains(suffix), "{name}: {unit}");
    }
    let headers = collector.headers();
    assert!(headers.iter().all(|headers| {
        headers
            .get("authorization")
            .is_some_and(|value| value == "Bearer hidden-word")
    }));
    let shown = format!("{:?}", collector.metrics());
    assert!(!shown.contains("hidden-word"));
    assert!(!instance.output().contains("hidden-word"));
    instance.stop().await;
}

#[tokio::test]
async fn an_unreachable_collector_is_one_warning() {
    let collector = Collector::start().await;
    let address = collector.url().replace("http://", "");
    let proxy = TcpProxy::start(address.parse().unwrap()).await;
    proxy.set_link(Link::Cut);
    let site = Site::new();
    let telemetry = format!(
        "telemetry {{\n  otlp {{\n    endpoint = \"http://{}\"\n    interval = \"1s\"\n  \
         }}\n}}\n",
        proxy.address()
    );
    let consul = ConsulAgent::start().await;
    site.configure(&consul.address(), Backend::Shared, &telemetry);
    let instance = Instance::start_embedded(&site).await;
    let line = "the collector of telemetry.otlp takes nothing";
    eventually(DEADLINE, async || {
        let lines = instance.output().matches(line).count();
        met(lines > 3, lines)
    })
    .await;
    proxy.set_link(Link::Open);
    let again = "the collector of telemetry.otlp takes exports again";
    instance.until_logged(again).await;
    let output = instance.output();
    let warnings = output.lines().filter(|text| {
        let is_about = text.contains(line) || text.contains("opentelemetry");
        is_about && (text.contains("[WARN]") || text.contains("[ERROR]"))
    });
    let warnings: Vec<_> = warnings.collect();
    assert_eq!(warnings.len(), 1, "{output}");
    // The system and the library have different words for it.
    let reason = warnings[0].to_lowercase();
    let known = ["connection reset", "because of a broken pipe"];
    assert!(known.iter().any(|words| reason.contains(words)), "{reason}");
    instance.stop().await;
}

/// Series whose first increase is worth an alert, so that they must be there before it.
const FROM_THE_START: [(&str, &[&str]); 9] = [
    (
        "cts_runs_ended_total",
        &["kind=\"apply\"", "outcome=\"failed\""],
    ),
    (
        "cts_runs_ended_total",
        &["kind=\"destroy\"", "outcome=\"failed\""],
    ),
    (
        "cts_worker_attempts_total",
        &["kind=\"apply\"", "outcome=\"failed\""],
    ),
    ("cts_leases_expired_total", &[]),
    ("cts_views_failures_total", &["reason=\"unreachable\""]),
    ("cts_views_failures_total", &["reason=\"refused\""]),
    (
        "cts_calls_refused_total",
        &["interface=\"grpc\"", "reason=\"unauthenticated\""],
    ),
    (
        "cts_calls_refused_total",
        &["interface=\"rest\"", "reason=\"unauthenticated\""],
    ),
    ("cts_task_failures", &["task=\"pool\""]),
];

/// Values of the series of this name whose labels have each of these parts.
fn values(scrape: &Scrape, name: &str, labels: &[&str]) -> Vec<f64> {
    let of_name = scrape.series.iter().filter(|(series, _value)| {
        let known = series.split('{').next() == Some(name);
        known && labels.iter().all(|label| series.contains(label))
    });
    of_name.map(|(_series, value)| *value).collect()
}

/// Waits until the task has failed this many times in a row, and returns the scrape.
async fn until_failures(cts: &Instance, expected: f64) -> Scrape {
    eventually(DEADLINE, async || {
        let scrape = scrape(scrape_address(&cts.output())?).await?;
        let found = values(&scrape, "cts_task_failures", &["task=\"pool\""]);
        let is_so = found == [expected];
        is_so.then_some(scrape).ok_or_else(|| format!("{found:?}"))
    })
    .await
}

#[tokio::test]
async fn series_begin_at_zero_and_failures_of_a_task_outlive_a_restart() {
    let consul = ConsulAgent::start().await;
    consul
        .register_service("web", "web-1", 1, &[], &["broken"])
        .await;
    let site = Site::new();
    site.write_steps("pool");
    site.hold();
    let telemetry = "telemetry {\n  listen = \"127.0.0.1:0\"\n}\n";
    let pool = task("pool", "./modules/pool", &["web"], "retry_failed = false");
    site.configure(
        &consul.address(),
        Backend::Shared,
        &format!("{telemetry}{pool}"),
    );
    let cts = Instance::start_embedded(&site).await;
    site.wait_for_step("pool", "begin", "web-1").await;
    let first = until_failures(&cts, 0.0).await;
    for (name, labels) in FROM_THE_START {
        assert_eq!(values(&first, name, labels), [0.0], "{name} {labels:?}");
    }
    site.release();
    let failed = until_failures(&cts, 1.0).await;
    let (name, labels) = FROM_THE_START[0];
    assert_eq!(values(&failed, name, labels), [1.0]);
    cts.stop().await;

    // A start tries the input that has failed again.
    let cts = Instance::start_embedded(&site).await;
    until_failures(&cts, 2.0).await;
    cts.stop().await;
}
