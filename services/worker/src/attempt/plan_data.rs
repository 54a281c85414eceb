//! The plan of a run as data: read once, and reported to the scheduler (docs/runs.md#plans-as-data).

use std::io;
use std::sync::Arc;

use cts_core::runs::RunKind;
use cts_core::{Chain, EffectScope};
use cts_proto::run::v1::{PlanCounts, PlanData, PlanExtent};
use cts_rpc::CallFailure;
use cts_terraform::{
    MOST_PLAN_BYTES, PlanContext, PlanOutput, SavedPlan, counts_only, without_attributes,
};
use prost::Message as _;
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tonic::Code;

use super::local_run::LocalRun;
use crate::redaction::Redactor;

/// Most bytes of a plan in a report, compressed.
const LARGEST: usize = 1024 * 1024;

/// The reason of a plan that the engine did not show.
const UNREAD: &str = "the plan could not be read";

/// The default level of zstd.
const LEVEL: i32 = 3;

impl LocalRun<'_> {
    /// Reads a plan and reports the plan, if the scheduler keeps plans. The first attempt reports no plan that changes
    /// nothing; a further one does, which replaces the plan of the attempt before. A failure is logged, and the run goes
    /// on.
    pub(super) async fn report_plan(
        self,
        plan: &SavedPlan,
        output: &PlanOutput,
        redactor: &Arc<Redactor>,
    ) {
        let (run, stop) = (self.run, &self.attempt.stop);
        let is_told = output.changes_present || run.lease.attempt > 1;
        if run.lease.plan_key.is_none() || !is_told {
            return;
        }
        let Some(content) = self.content(plan, output, redactor).await else {
            return;
        };
        let recorded = tokio::select! {
            recorded = run.shared.scheduler.record_plan(&run.lease, content) => recorded,
            () = stop.cancelled() => return,
        };
        match recorded {
            Ok(()) => {}
            Err(status) if status.code() == Code::Unimplemented => {
                tracing::debug!(task_name = run.lease.task_name, run.id = %run.lease.run, "the scheduler keeps no plans");
            }
            Err(status) => self.warn_unreported(&CallFailure(&status).to_string()),
        }
    }

    /// The content of a report about a plan. A plan that cannot be read has an empty one. `None` if the run is stopped, or
    /// if there can be no content, which is logged.
    pub(super) async fn content(
        self,
        plan: &SavedPlan,
        output: &PlanOutput,
        redactor: &Arc<Redactor>,
    ) -> Option<Vec<u8>> {
        let data = if output.changes_present {
            let begun = Instant::now();
            let data = self.plan_data(plan, redactor).await;
            self.run.spans.ended("read plan", begun.elapsed());
            match data {
                Ok(data) => data,
                Err(_reason) if self.attempt.stop.is_cancelled() => return None,
                Err(reason) => {
                    self.warn_unreported(&reason);
                    numbers(PlanExtent::Counts, vec![UNREAD.to_owned()])
                }
            }
        } else {
            numbers(PlanExtent::All, Vec::new())
        };
        let compressing = spawn_blocking(move || compressed(data));
        let content = compressing
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)));
        let warn = |error: &io::Error| self.warn_unreported(&error.to_string());
        content.inspect_err(warn).ok()
    }

    fn warn_unreported(self, reason: &str) {
        let lease = &self.run.lease;
        tracing::warn!(task_name = lease.task_name, run.id = %lease.run, reason, "the plan of the run is not kept as data");
    }

    /// Reads a plan. An error is the reason for a log line.
    async fn plan_data(
        self,
        plan: &SavedPlan,
        redactor: &Arc<Redactor>,
    ) -> Result<PlanData, String> {
        let Self {
            run,
            terraform,
            attempt,
            lineage,
        } = self;
        let key = run.lease.plan_key.clone();
        let key = key.ok_or("the scheduler has sent no key for its effect")?;
        let record = run.lease.state.as_ref().ok().and_then(Option::as_ref);
        let known = record.and_then(|record| record.known.as_ref());
        let recorded = known.map(|known| known.lineage.as_str());
        let redacting = Arc::clone(redactor);
        let context = PlanContext {
            key,
            scope: EffectScope {
                workspace: attempt.task.to_string(),
                lineage: lineage.or(recorded).map(str::to_owned),
            },
            destroys: matches!(run.lease.kind, Ok(RunKind::Destroy | RunKind::DestroyPlan)),
            ignored: run.lease.ignored.clone(),
            redact: Box::new(move |text| redacting.redact(text)),
        };
        let read = match terraform.read_plan(attempt, plan, context).await {
            Ok(read) => read,
            Err(error) => {
                if error.has_left_processes() {
                    // The next attempt waits for the end of these processes.
                    run.shared.adopted.lock().await.remove(&attempt.directory);
                }
                return Err(redactor.redact(&Chain(&error).to_string()).into_owned());
            }
        };
        if let Some(reason) = read.unread {
            tracing::warn!(task_name = %attempt.task, run.id = %run.lease.run, reason, "only numbers of the plan are kept as data");
        }
        Ok(read.data)
    }
}

/// A plan of which nothing but this is known.
fn numbers(extent: PlanExtent, unclear: Vec<String>) -> PlanData {
    PlanData {
        extent: extent.into(),
        counts: Some(PlanCounts::default()),
        unclear,
        ..PlanData::default()
    }
}

/// The content of a report: as much of a plan as fits into it.
fn compressed(mut plan: PlanData) -> io::Result<Vec<u8>> {
    loop {
        let is_last = plan.extent() == PlanExtent::Counts;
        if is_last || plan.encoded_len() <= MOST_PLAN_BYTES {
            let content = zstd::encode_all(plan.encode_to_vec().as_slice(), LEVEL)?;
            if is_last || content.len() <= LARGEST {
                return Ok(content);
            }
        }
        if plan.extent() == PlanExtent::All {
            without_attributes(&mut plan);
        } else {
            counts_only(&mut plan);
        }
    }
}

#[cfg(test)]
mod tests {
    use cts_proto::run::v1::planned_value::Value;
    use cts_proto::run::v1::{PlannedAttribute, PlannedChange, PlannedValue};

    use super::*;

    /// A plan of `changes` changes, each with a value of `bytes` bytes. Compression does not shorten noise.
    fn plan(changes: u32, bytes: usize, noise: bool) -> PlanData {
        let mut random = fastrand::Rng::with_seed(7);
        let mut text = |length: usize| -> String {
            let character = |_at| if noise { random.alphanumeric() } else { 'x' };
            (0..length).map(character).collect()
        };
        let change = |number| PlannedChange {
            address: format!("a.b[{number}]{}", text(32)),
            attributes: vec![PlannedAttribute {
                after: Some(PlannedValue {
                    value: Some(Value::Json(text(bytes))),
                    hash: Vec::new(),
                }),
                ..PlannedAttribute::default()
            }],
            ..PlannedChange::default()
        };
        PlanData {
            extent: PlanExtent::All.into(),
            effect: "e".into(),
            changes: (0..changes).map(change).collect(),
            counts: Some(PlanCounts {
                created: changes,
                ..PlanCounts::default()
            }),
            ..PlanData::default()
        }
    }

    #[test]
    fn a_plan_is_reported_as_far_as_it_fits() {
        let cases = [
            (plan(3, 100, true), PlanExtent::All),
            // Short once compressed.
            (plan(10, 1024 * 1024, false), PlanExtent::All),
            (plan(17, 1024 * 1024, false), PlanExtent::Addresses),
            (plan(20, 100 * 1024, true), PlanExtent::Addresses),
            (plan(60_000, 1, true), PlanExtent::Counts),
        ];
        for (plan, extent) in cases {
            let (counts, effect, changes) = (plan.counts, plan.effect.clone(), plan.changes.len());
            let content = compressed(plan).unwrap();
            assert!(content.len() <= LARGEST);
            let plain = zstd::decode_all(content.as_slice()).unwrap();
            assert!(plain.len() <= MOST_PLAN_BYTES);
            let kept = PlanData::decode(plain.as_slice()).unwrap();
            assert_eq!(kept.extent(), extent);
            assert_eq!((kept.counts, &kept.effect), (counts, &effect));
            let expected = if extent == PlanExtent::Counts {
                0
            } else {
                changes
            };
            assert_eq!(kept.changes.len(), expected);
        }
    }
}
