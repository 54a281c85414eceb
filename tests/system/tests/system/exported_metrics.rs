//! Metrics that a process exports over OTLP (docs/telemetry.md#otlp).

use std::collections::{BTreeMap, BTreeSet};

use cts_testkit::{Collector, ConsulAgent, Link, TcpProxy, attribute, eventually};
use cts_tests::{Backend, DEADLINE, Instance, RECORDER, Shape, Site, documented_metrics, task};
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
        (lines > 3).then_some(()).ok_or(lines)
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
