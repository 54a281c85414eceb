//! One trace for each run, over the processes of all services (docs/telemetry.md#traces).

mod exported;

use cts_testkit::{Collector, ConsulAgent, eventually, tofu_path};
use cts_tests::{Cluster, DEADLINE, Plan, RECORDER, Service, Site, met, task};

use self::exported::{Exported, logged_in, spans};
use crate::cluster::scene::Scene;

/// A value that no span may show.
const SECRET: &str = "opaque-6b1f1d0e";

/// A cluster that exports its spans.
async fn traced(plan: Plan, traces_kept: u32) -> (Scene, Collector) {
    let collector = Collector::start().await;
    let site = Site::new();
    let text = format!(
        "telemetry {{\n  traces_kept = {traces_kept}\n  otlp {{\n    endpoint = \"{}\"\n    \
         headers = {{ authorization = \"{SECRET}\" }}\n  }}\n}}\n",
        collector.url()
    );
    site.write("telemetry.hcl", &text);
    let scene = Scene::start_at(site, plan.with_file(None, "telemetry.hcl")).await;
    (scene, collector)
}

/// The spans of the trace in which `name` was exported by `service` last, once these are all there.
async fn trace_with(
    collector: &Collector,
    (service, name): (&str, &str),
    expected: &[(&str, &str)],
) -> Vec<Exported> {
    eventually(DEADLINE, async || {
        let all = spans(collector);
        let found = all.iter().rev().find(|span| span.is(service, name));
        let Some(found) = found else {
            return Err(format!("{name} of {service} is missing among {all:?}"));
        };
        let of_trace = all.iter().filter(|span| span.trace == found.trace);
        let of_trace: Vec<Exported> = of_trace.cloned().collect();
        let is_there =
            |(service, name): &(&str, &str)| of_trace.iter().any(|span| span.is(service, name));
        match expected.iter().find(|expected| !is_there(expected)) {
            None => Ok(of_trace),
            Some(missing) => Err(format!("{missing:?} is missing in {of_trace:?}")),
        }
    })
    .await
}

fn one<'a>(spans: &'a [Exported], service: &str, name: &str) -> &'a Exported {
    let mut found = spans.iter().filter(|span| span.is(service, name));
    let first = found
        .next()
        .unwrap_or_else(|| panic!("{name} of {service} in {spans:?}"));
    assert!(
        found.next().is_none(),
        "{name} of {service} twice in {spans:?}"
    );
    first
}

#[tokio::test]
async fn a_change_is_one_trace_from_consul_to_terraform() {
    let (mut scene, collector) = traced(Plan::default(), 100).await;
    scene.change_is_applied().await;
    let expected = [
        ("cts-watcher", "change"),
        ("cts-scheduler", "run"),
        ("cts-scheduler", "queue"),
        ("cts-scheduler", "lease"),
        ("cts-worker", "attempt"),
        ("cts-worker", "render"),
        ("cts-worker", "apply"),
    ];
    let trace = trace_with(&collector, ("cts-watcher", "change"), &expected).await;
    let change = one(&trace, "cts-watcher", "change");
    assert_eq!(change.parent, None);
    let run = one(&trace, "cts-scheduler", "run");
    assert_eq!(run.parent, Some(change.span));
    assert_eq!(run.attribute("cts.task.name"), Some("pool"));
    assert_eq!(run.attribute("cts.outcome"), Some("succeeded"));
    assert_eq!(one(&trace, "cts-scheduler", "queue").parent, Some(run.span));
    let lease = one(&trace, "cts-scheduler", "lease");
    assert_eq!(lease.parent, Some(run.span));
    let attempt = one(&trace, "cts-worker", "attempt");
    assert_eq!(attempt.parent, Some(lease.span));
    for part in ["render", "apply"] {
        assert_eq!(one(&trace, "cts-worker", part).parent, Some(attempt.span));
    }
    let known: Vec<u64> = trace.iter().map(|span| span.span).collect();
    for span in &trace {
        assert!(span.started <= span.ended, "{span:?}");
        assert!(
            span.parent.is_none_or(|parent| known.contains(&parent)),
            "{span:?}"
        );
    }

    let shown = format!("{:?}", collector.spans());
    let database = scene.site.database().await.to_owned();
    for secret in [SECRET, database.as_str()] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[tokio::test]
async fn a_requested_run_is_in_the_trace_of_its_request() {
    let (scene, collector) = traced(Plan::default(), 100).await;
    scene.wait_until_api_answers(0).await;
    let client = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let answer = reqwest::Client::builder()
        .timeout(DEADLINE)
        .build()
        .unwrap()
        .patch(scene.cluster.api(0).url("/v1/tasks/pool?run=now"))
        .header("traceparent", client)
        .body("{\"enabled\": true}")
        .send()
        .await
        .unwrap();
    let (status, answer) = (answer.status(), answer.text().await.unwrap());
    assert_eq!(status, 200, "{answer}");
    let expected = [
        ("cts-scheduler", "run"),
        ("cts-scheduler", "lease"),
        ("cts-worker", "attempt"),
    ];
    let trace = trace_with(&collector, ("cts-gateway", "request"), &expected).await;
    let request = one(&trace, "cts-gateway", "request");
    assert_eq!(request.trace, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
    assert_eq!(request.parent, Some(0xb7ad_6b71_6920_3331));
    let run = one(&trace, "cts-scheduler", "run");
    assert_eq!(run.parent, Some(request.span));
    let lease = one(&trace, "cts-scheduler", "lease");
    assert_eq!(
        one(&trace, "cts-worker", "attempt").parent,
        Some(lease.span)
    );
}

#[tokio::test]
async fn without_a_sampling_rate_only_failed_runs_are_exported() {
    let (mut scene, collector) = traced(Plan::default(), 0).await;
    scene.change_is_applied().await;
    scene.settled_events().await;
    let consul = &scene.consul;
    consul
        .register_service("web", "web-9", 9, &[], &["broken"])
        .await;
    let expected = [
        ("cts-watcher", "change"),
        ("cts-scheduler", "lease"),
        ("cts-worker", "attempt"),
    ];
    let trace = trace_with(&collector, ("cts-scheduler", "lease"), &expected).await;
    let lease = trace
        .iter()
        .find(|span| span.is("cts-scheduler", "lease"))
        .unwrap();
    assert!(lease.failed, "{lease:?}");
    let known: Vec<u128> = spans(&collector).iter().map(|span| span.trace).collect();
    assert!(known.iter().all(|known| *known == lease.trace), "{trace:?}");
}

#[tokio::test]
async fn the_trace_of_a_killed_worker_has_both_attempts() {
    let (mut scene, collector) = traced(Plan::of(1, 1, 2, 1), 100).await;
    scene.site.hold();
    scene.change().await;
    let ids = scene.ids();
    let terraform = scene.site.wait_for_step("pool", "begin", &ids).await;
    let lost = scene.cluster.worker_of(terraform);
    scene.cluster.kill(Service::Worker, lost).await;
    scene.site.wait_until_quiet().await;
    scene.site.release();
    scene.wait_until_applied().await;

    let expected = [("cts-scheduler", "run"), ("cts-worker", "attempt")];
    let trace = trace_with(&collector, ("cts-watcher", "change"), &expected).await;
    let run = one(&trace, "cts-scheduler", "run");
    let leases = trace
        .iter()
        .filter(|span| span.is("cts-scheduler", "lease"));
    let outcomes: Vec<_> = leases
        .map(|lease| {
            assert_eq!(lease.parent, Some(run.span));
            lease.attribute("cts.outcome").unwrap()
        })
        .collect();
    assert_eq!(outcomes, ["lost", "applied"]);
}

#[tokio::test]
async fn merged_changes_are_links_of_one_run() {
    let (mut scene, collector) = traced(Plan::default(), 100).await;
    scene.site.hold();
    scene.change().await;
    scene
        .site
        .wait_for_step("pool", "begin", &scene.ids())
        .await;
    scene.change().await;
    let api = scene.cluster.api(0);
    eventually(DEADLINE, async || match api.ask("/v1/queue").await {
        Ok((200, queue)) if queue["queued"] == 1 => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    scene.change().await;
    // All three changes are on their way before the first is applied.
    eventually(DEADLINE, async || {
        let all = spans(&collector);
        let changes = all.iter().filter(|span| span.is("cts-watcher", "change"));
        let count = changes.count();
        (count >= 3).then_some(()).ok_or(format!("{count} changes"))
    })
    .await;
    scene.site.release();
    scene.wait_until_applied().await;
    let run = eventually(DEADLINE, async || {
        let all = spans(&collector);
        let runs = all.iter().filter(|span| span.is("cts-scheduler", "run"));
        let linked = runs.filter(|run| !run.links.is_empty()).cloned();
        let linked: Vec<Exported> = linked.collect();
        match linked.as_slice() {
            [run] => Ok((run.clone(), all)),
            _ => Err(format!("{linked:?} among {all:?}")),
        }
    })
    .await;
    let (run, all) = run;
    let changes = all.iter().filter(|span| span.is("cts-watcher", "change"));
    let changes: Vec<(u128, u64)> = changes.map(|change| (change.trace, change.span)).collect();
    assert!(
        run.links.iter().all(|link| changes.contains(link)),
        "{run:?} {changes:?}"
    );
    let parent = run.parent.map(|parent| (run.trace, parent));
    assert!(
        parent.is_some_and(|parent| changes.contains(&parent)),
        "{run:?} {changes:?}"
    );
}

#[tokio::test]
async fn spans_of_opentofu_are_parts_of_the_attempt_and_the_log_has_their_trace() {
    let collector = Collector::start().await;
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    let tofu = tofu_path();
    let tofu = tofu.parent().unwrap().display();
    let driver = format!(
        "engine = \"opentofu\"\n  path = \"{tofu}\"\n  {}",
        site.shared_backend()
    );
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure_driver(&consul.address(), &driver, &pool);
    let text = format!(
        "telemetry {{\n  terraform = true\n  otlp {{\n    endpoint = \"{}\"\n    \
         signals = [\"traces\", \"logs\"]\n  }}\n}}\n",
        collector.url()
    );
    site.write("telemetry.hcl", &text);
    let plan = Plan::default().with_file(None, "telemetry.hcl");
    let _cluster = Cluster::start(&site, plan).await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    site.wait_for_ids("pool", &["web-1"]).await;

    let expected = [("cts-worker", "attempt"), ("cts-scheduler", "run")];
    let trace = trace_with(&collector, ("cts-worker", "apply"), &expected).await;
    let attempt = one(&trace, "cts-worker", "attempt");
    eventually(DEADLINE, async || {
        let all = spans(&collector);
        let parts = all.iter().filter(|span| span.parent == Some(attempt.span));
        let mut foreign = parts.filter(|span| !span.is_of_cts());
        let found = foreign.find(|span| span.trace == attempt.trace);
        found.map(drop).ok_or(format!("{all:?}"))
    })
    .await;
    // Lines of the run in the worker and in the scheduler.
    eventually(DEADLINE, async || {
        let services = logged_in(&collector, attempt.trace);
        let both = ["cts-scheduler", "cts-worker"].map(str::to_owned);
        let has_both = both.iter().all(|service| services.contains(service));
        met(has_both, format!("{services:?}"))
    })
    .await;
}
