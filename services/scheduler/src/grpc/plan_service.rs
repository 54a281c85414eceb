//! `cts.run.v1.PlanService`: plans and inputs of runs as data.

mod hidden_values;
mod shown_input;

use std::mem::take;
use std::pin::Pin;
use std::sync::Arc;

use cts_proto::run::v1 as proto;
use cts_proto::run::v1::PlanData;
use cts_proto::run::v1::plan_service_server::PlanService;
use cts_rpc::admission::rights;
use cts_rpc::{chunks, convert};
use cts_store::Store;
use futures::Stream;
use prost::Message;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tonic::{Request, Response, Status};

use self::hidden_values::{hide_values, values};
use self::shown_input::shown_input;
use crate::approval::content::{InvalidPlan, decode};
use crate::grpc::lease_proofs::{Held, LeaseProofs};
use crate::status::OrStatus as _;

#[derive(Debug)]
pub(crate) struct PlanEndpoint {
    store: Arc<dyn Store>,
    proofs: LeaseProofs,
    /// Room for plans that workers report. A slow reader takes nothing of this room.
    reports: Arc<Semaphore>,
    /// Room for plans and inputs that are read.
    readings: Arc<Semaphore>,
}

/// Most plans in memory for reports, as many for readers, and as many for decisions about an apply.
pub(super) const ROOM: usize = 4;

impl PlanEndpoint {
    pub(crate) fn new(store: Arc<dyn Store>, proofs: LeaseProofs) -> Self {
        Self {
            store,
            proofs,
            reports: Arc::new(Semaphore::new(ROOM)),
            readings: Arc::new(Semaphore::new(ROOM)),
        }
    }
}

/// A decoded plan, with the room that the plan takes.
type Decoded = (OwnedSemaphorePermit, Result<PlanData, InvalidPlan>);

/// Decodes a plan once there is room, outside the threads of the runtime.
async fn decoded(room: &Arc<Semaphore>, content: Vec<u8>) -> Result<Decoded, Status> {
    let permit = Arc::clone(room).acquire_owned().await;
    let permit = permit.map_err(|error| Status::internal(error.to_string()))?;
    let decoding = spawn_blocking(move || (permit, decode(&content)));
    decoding
        .await
        .map_err(|error| Status::internal(error.to_string()))
}

type Parts = Pin<Box<dyn Stream<Item = Result<proto::GetPlanResponse, Status>> + Send>>;

#[tonic::async_trait]
impl PlanService for PlanEndpoint {
    type GetPlanStream = Parts;

    async fn record_plan(
        &self,
        request: Request<proto::RecordPlanRequest>,
    ) -> Result<Response<proto::RecordPlanResponse>, Status> {
        let (metadata, _, request) = request.into_parts();
        let Held { run, holder, epoch } =
            self.proofs
                .held(&metadata, &request.run_id, request.worker_id, request.epoch)?;
        let (permit, plan) = decoded(&self.reports, request.content.clone()).await?;
        plan.map_err(|error| Status::invalid_argument(error.to_string()))?;
        drop(permit);
        let recorded = self
            .store
            .record_plan(run, &holder, epoch, &request.content);
        recorded.await.or_status()?;
        Ok(Response::new(proto::RecordPlanResponse {}))
    }

    async fn get_plan(
        &self,
        request: Request<proto::GetPlanRequest>,
    ) -> Result<Response<Self::GetPlanStream>, Status> {
        let sees_values = rights(&request).sees_values;
        let request = request.into_inner();
        let run = convert::run_id(&request.run_id)?;
        let content = self.store.recorded_plan(run).await.or_status()?;
        let content = content.ok_or_else(|| {
            Status::not_found(format!("run {run} does not exist or has no plan as data"))
        })?;
        let (permit, plan) = decoded(&self.readings, content).await?;
        let mut plan = plan.map_err(|error| {
            tracing::error!(run.id = %run, %error, "a stored plan cannot be read");
            Status::data_loss("the stored plan cannot be read")
        })?;
        for value in values(&mut plan) {
            value.hash.clear();
        }
        if request.without_values || !sees_values {
            hide_values(&mut plan);
        }
        let parts = parts(plan).map(move |part| {
            // Held until the last part is sent, or nothing reads any more.
            let _held = &permit;
            Ok(proto::GetPlanResponse { part: Some(part) })
        });
        Ok(Response::new(Box::pin(tokio_stream::iter(parts))))
    }

    async fn get_input(
        &self,
        request: Request<proto::GetInputRequest>,
    ) -> Result<Response<proto::GetInputResponse>, Status> {
        let sees_inputs = rights(&request).sees_inputs;
        let request = request.into_inner();
        let run = convert::run_id(&request.run_id)?;
        let room = self.readings.acquire().await;
        let _room = room.map_err(|error| Status::internal(error.to_string()))?;
        let hides = request.without_values || !sees_inputs;
        // Inputs may be large.
        let (store, runtime) = (Arc::clone(&self.store), Handle::current());
        let shown = move || runtime.block_on(shown_input(&*store, run, hides));
        let shown = spawn_blocking(shown).await;
        let shown = shown.map_err(|error| Status::internal(error.to_string()))?;
        let missing = || format!("run {run} does not exist, or has no input that can be read");
        let input = shown.or_status()?;
        let input = Some(input.ok_or_else(|| Status::not_found(missing()))?);
        Ok(Response::new(proto::GetInputResponse { input }))
    }
}

/// A plan in messages of bounded size, which are merged in their order.
fn parts(mut plan: PlanData) -> impl Iterator<Item = PlanData> + Send {
    let changes = cut(take(&mut plan.changes), |changes| PlanData {
        changes,
        ..PlanData::default()
    });
    let outputs = cut(take(&mut plan.outputs), |outputs| PlanData {
        outputs,
        ..PlanData::default()
    });
    let invocations = cut(take(&mut plan.invocations), |invocations| PlanData {
        invocations,
        ..PlanData::default()
    });
    let deferred = cut(take(&mut plan.deferred), |deferred| PlanData {
        deferred,
        ..PlanData::default()
    });
    let lists = changes.chain(outputs).chain(invocations).chain(deferred);
    std::iter::once(plan).chain(lists)
}

fn cut<T: Message>(
    list: Vec<T>,
    part: impl Fn(Vec<T>) -> PlanData,
) -> impl Iterator<Item = PlanData> {
    chunks(list, T::encoded_len).map(part)
}

#[cfg(test)]
mod tests {
    use cts_proto::run::v1::{PlannedChange, PlannedInvocation};

    use super::*;

    #[test]
    fn parts_of_a_large_plan_are_small_and_merge_into_it() {
        let change = |address: String| PlannedChange {
            address,
            ..PlannedChange::default()
        };
        let plan = PlanData {
            effect: "ab".into(),
            unclear: vec!["why".into()],
            changes: (0..9)
                .map(|it| change(format!("{it}").repeat(400_000)))
                .collect(),
            invocations: vec![PlannedInvocation::default()],
            ..PlanData::default()
        };
        let mut merged = PlanData::default();
        let mut number = 0;
        for part in parts(plan.clone()) {
            assert!(part.encoded_len() < 2 * cts_rpc::CHUNK_BYTES);
            merged.merge(part.encode_to_vec().as_slice()).unwrap();
            number += 1;
        }
        assert_eq!((merged, number), (plan, 7));
    }
}
