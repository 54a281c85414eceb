//! Plans of runs as data: recorded by the holder of a lease, and read by people.

use std::time::Duration;

use cts_proto::run::v1 as run;
use cts_proto::run::v1::planned_value::Value;
use cts_proto::run::v1::{PlanData, PlannedAttribute, PlannedChange, PlannedOutput, PlannedValue};
use prost::Message as _;
use tonic::{Code, Status};

use crate::calls::interrupted;
use crate::setup::{Setup, WORKER, instance, task};

const LONG: Duration = Duration::from_secs(30);

#[expect(clippy::unnecessary_wraps, reason = "fields are optional")]
fn value(value: Value) -> Option<PlannedValue> {
    Some(PlannedValue {
        value: Some(value),
        hash: Vec::new(),
    })
}

/// A plan of this engine, with values of each kind.
fn plan(engine: &str) -> PlanData {
    let attribute = |path: &str, before, after| PlannedAttribute {
        path: path.into(),
        before,
        after,
        changed: true,
        forces_replacement: false,
        ignored: false,
    };
    let change = PlannedChange {
        address: "a.b".into(),
        attributes: vec![
            attribute("shown", None, value(Value::Json("1.10".into()))),
            attribute(
                "secret",
                value(Value::Hidden(true)),
                value(Value::Unknown(true)),
            ),
        ],
        ..PlannedChange::default()
    };
    PlanData {
        engine_version: engine.into(),
        changes: vec![change],
        outputs: vec![PlannedOutput {
            name: "o".into(),
            after: value(Value::Json("\"x\"".into())),
            ..PlannedOutput::default()
        }],
        ..PlanData::default()
    }
}

async fn record(setup: &Setup, lease: &run::Lease, content: Vec<u8>) -> Result<(), Code> {
    let request = run::RecordPlanRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        content,
    };
    let recorded = setup.plans.clone().record_plan(request).await;
    recorded.map(drop).map_err(|status| status.code())
}

async fn record_plan(setup: &Setup, lease: &run::Lease, plan: &PlanData) -> Result<(), Code> {
    let content = zstd::encode_all(plan.encode_to_vec().as_slice(), 3).unwrap();
    record(setup, lease, content).await
}

async fn read(setup: &Setup, id: &str, without_values: bool) -> Result<PlanData, Status> {
    let request = run::GetPlanRequest {
        run_id: id.into(),
        without_values,
    };
    let mut parts = setup.plans.clone().get_plan(request).await?.into_inner();
    let mut plan = PlanData::default();
    while let Some(answer) = parts.message().await? {
        let part = answer.part.unwrap().encode_to_vec();
        plan.merge(part.as_slice()).unwrap();
    }
    Ok(plan)
}

#[tokio::test]
async fn the_plan_of_the_last_attempt_is_kept_and_shown_without_hashes() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let first = setup.acquired().await;
    let id = first.run_id.as_str();
    assert_eq!(first.plan_key.len(), 32);
    for (id, code) in [
        (id, Code::NotFound),
        ("0197a000-0000-7000-8000-000000000009", Code::NotFound),
        ("no-id", Code::InvalidArgument),
    ] {
        assert_eq!(read(&setup, id, false).await.unwrap_err().code(), code);
    }

    let mut with_hash = plan("1.8.0");
    let secret = &mut with_hash.changes[0].attributes[1];
    secret.before.as_mut().unwrap().hash = vec![7; 32];
    assert_eq!(record_plan(&setup, &first, &with_hash).await, Ok(()));
    assert_eq!(read(&setup, id, false).await.unwrap(), plan("1.8.0"));
    let hidden = read(&setup, id, true).await.unwrap();
    let mut expected = plan("1.8.0");
    expected.changes[0].attributes[0].after = value(Value::Hidden(true));
    expected.outputs[0].after = value(Value::Hidden(true));
    assert_eq!(hidden, expected);

    for content in [b"no plan".to_vec(), vec![0; (1 << 20) + 1]] {
        let refused = record(&setup, &first, content).await;
        assert_eq!(refused, Err(Code::InvalidArgument));
    }
    setup.complete(&first, interrupted()).await.unwrap();
    let second = setup.acquired().await;
    assert_eq!(
        (second.run_id.as_str(), &second.plan_key),
        (id, &first.plan_key)
    );
    let stale = record_plan(&setup, &first, &plan("stale")).await;
    assert_eq!(stale, Err(Code::FailedPrecondition));
    assert_eq!(read(&setup, id, false).await.unwrap(), plan("1.8.0"));
    assert_eq!(record_plan(&setup, &second, &plan("1.9.0")).await, Ok(()));
    setup.applied(&second).await;
    assert_eq!(read(&setup, id, false).await.unwrap(), plan("1.9.0"));
}
