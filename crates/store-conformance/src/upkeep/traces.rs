//! Behaviours of the traces of runs.

use chrono::DateTime;
use cts_core::callers::{AuditAction, AuditRecord};
use cts_core::runs::EnqueueDecision;
use cts_core::{RunTrace, SpanId, TraceContext, TraceId};
use cts_store::EnqueueRequest;

use crate::Fixture;
use crate::access_store::{ask_recorded, call};
use crate::scene::Scene;

fn span(number: u64) -> TraceContext {
    TraceContext {
        trace: TraceId::new(7).expect("it is not 0"),
        span: SpanId::new(number).expect("it is not 0"),
    }
}

fn led_by(number: u64) -> RunTrace {
    RunTrace::led_by(span(number), DateTime::UNIX_EPOCH)
}

pub async fn a_run_keeps_its_trace_and_links_those_that_are_merged<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    let traced = |text: &str, number| EnqueueRequest {
        trace: Some(led_by(number)),
        ..scene.request("a", text)
    };
    let requests = [
        traced("1", 1),
        traced("2", 2),
        scene.request("a", "3"),
        traced("4", 4),
    ];
    for (number, request) in requests.into_iter().enumerate() {
        let enqueued = scene.request_all(vec![request]).await;
        let expected = match number {
            0 => EnqueueDecision::Enqueue,
            _ => EnqueueDecision::Replace,
        };
        assert_eq!(enqueued[0].decision, Some(expected));
    }
    let mut expected = led_by(1);
    expected.link(span(2));
    expected.link(span(4));
    scene.restart().await;
    let lease = scene.lease().await;
    assert_eq!(lease.trace.as_ref(), Some(&expected));
    assert_eq!(scene.run(lease.run).await.trace, Some(expected.clone()));
    scene.failed(&lease, "no").await;
    assert_eq!(scene.run(lease.run).await.trace, Some(expected));
}

pub async fn a_requested_run_has_the_trace_of_its_request<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let trace = Some(led_by(1));
    let record = AuditRecord {
        trace: trace.clone(),
        ..call(AuditAction::UpdateTask, "a")
    };
    let run = ask_recorded(&scene, record).await;
    let lease = scene.lease_requested(run, "1").await;
    assert_eq!(lease.trace, trace);
    scene.applied(&lease).await;
    assert_eq!(scene.leased("a", "2").await.trace, None);
}
