//! Questions about the scheduler replicas, and the brake of the fleet.

use std::sync::Arc;
use std::time::Duration;

use cts_core::callers::TaskPatterns;
use cts_proto::cluster::v1 as proto;
use cts_proto::cluster::v1::cluster_service_client::ClusterServiceClient;
use cts_rpc::Peers;
use cts_rpc::convert::duration_to_wire;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tonic::transport::Channel;

use super::call::{CALL_LIMIT, CallError, NO_SCHEDULER, ask, chain, present};
use super::changes::{ChangeError, with_reason};
use super::on_behalf::OnBehalf;
use super::single_flight::SingleFlight;

/// Longest wait for an answer that many requests share. Health checks do not wait longer either.
const SHARED_CALL_LIMIT: Duration = Duration::from_millis(1500);

/// Longest wait for a scheduler that answered its health check: a scheduler that does not serve either reports the
/// reason at once or not at all.
const UNFIT_CALL_LIMIT: Duration = Duration::from_millis(300);

/// Largest age of the result of a health check. Many balancers may ask often, but the scheduler gets one call.
const MAX_AGE: Duration = Duration::from_secs(1);

/// A scheduler has answered, but without its database.
const NO_DATABASE: &str = "the database of the schedulers is unreachable";

/// A scheduler has answered with an error.
const FAILED: &str = "the scheduler failed because of an internal error";

/// A result, an answer or an error, that several requests share.
pub(crate) type SharedAnswer = Result<Arc<proto::GetClusterResponse>, Arc<CallError>>;

/// Calls the cluster service; cheap to clone, and clones share their recent answers.
#[derive(Debug, Clone)]
pub(crate) struct ClusterClient {
    client: ClusterServiceClient<Channel>,
    schedulers: Peers,
    /// Locked during the call, so that any number of requests makes one call.
    recent: Arc<Mutex<Option<Recent>>>,
    newest: Arc<SingleFlight<SharedAnswer>>,
}

#[derive(Debug)]
struct Recent {
    /// Arrival of the answer. With the moment of the call instead, requests that waited for a slow answer would each
    /// find the answer too old, and call one after the other.
    at: Instant,
    answer: SharedAnswer,
}

impl ClusterClient {
    pub(crate) fn new(client: ClusterServiceClient<Channel>, schedulers: Peers) -> Self {
        Self {
            client,
            schedulers,
            recent: Arc::default(),
            newest: Arc::default(),
        }
    }

    /// The replicas as they are now.
    pub(crate) async fn cluster(&self) -> Result<proto::GetClusterResponse, CallError> {
        self.get_cluster(CALL_LIMIT).await
    }

    /// The replicas from an answer that is at most [`MAX_AGE`] old; an older answer is requested again.
    /// Failures are shared as well.
    ///
    /// If the caller that sends the request goes away, the next waiting caller sends it again.
    pub(crate) async fn recent(&self) -> SharedAnswer {
        let mut recent = self.recent.lock().await;
        if let Some(Recent { at, answer }) = &*recent
            && at.elapsed() < MAX_AGE
        {
            return answer.clone();
        }
        let answer = self.shared_answer().await;
        *recent = Some(Recent {
            at: Instant::now(),
            answer: answer.clone(),
        });
        answer
    }

    /// The replicas from an answer to a call that begins after this call. Callers that wait at the same time share the
    /// answer.
    pub(crate) async fn newest(&self) -> SharedAnswer {
        let client = self.clone();
        let call = || async move { client.shared_answer().await };
        self.newest.join(call).await
    }

    /// Asks about the replicas for many requests. Failures are logged here, once for all.
    async fn shared_answer(&self) -> SharedAnswer {
        let limit = match self.schedulers.unfit() {
            Some(_) => UNFIT_CALL_LIMIT,
            None => SHARED_CALL_LIMIT,
        };
        let answer = self
            .get_cluster(limit)
            .await
            .map(Arc::new)
            .map_err(Arc::new);
        if let Err(error) = &answer
            && !error.is_unavailable()
        {
            tracing::error!(
                error = chain(&**error),
                "no scheduler answered about the cluster"
            );
        }
        answer
    }

    /// Reason why no scheduler can do its work, for clients; `None` if a scheduler can. Each 503 without a scheduler
    /// has this reason.
    pub(crate) async fn outage(&self) -> Option<String> {
        match self.recent().await {
            Ok(cluster) => Some(cluster.unhealthy.clone()).filter(|reason| !reason.is_empty()),
            Err(error) if !error.is_unavailable() => Some(FAILED.to_owned()),
            // A scheduler that only answers its health checks has lost its database.
            Err(error) if error.is_without_database() || self.schedulers.unfit().is_some() => {
                Some(NO_DATABASE.to_owned())
            }
            Err(_away) => Some(NO_SCHEDULER.to_owned()),
        }
    }

    /// The configuration in force, and the configurations of the members.
    pub(crate) async fn configuration(&self) -> Result<proto::GetConfigurationResponse, CallError> {
        let request = proto::GetConfigurationRequest {};
        let answer = ask(CALL_LIMIT, call!(self.client.get_configuration(request))).await?;
        Ok(answer.into_inner())
    }

    /// The condition of everything.
    pub(crate) async fn overview(&self) -> Result<proto::GetOverviewResponse, CallError> {
        let request = proto::GetOverviewRequest {};
        let answer = ask(CALL_LIMIT, call!(self.client.get_overview(request))).await?;
        Ok(answer.into_inner())
    }

    /// The condition of these tasks.
    pub(crate) async fn overview_of(
        &self,
        tasks: &TaskPatterns,
    ) -> Result<proto::GetOverviewResponse, CallError> {
        let request = proto::GetLimitedOverviewRequest {
            visible_tasks: tasks.texts().to_vec(),
        };
        let answer = ask(CALL_LIMIT, call!(self.client.get_limited_overview(request))).await;
        let answer = answer.map_err(|error| error.or_too_old("overviews of some tasks"))?;
        let overview = answer.into_inner().overview;
        present(overview, "GetLimitedOverviewResponse.overview")
    }

    /// How long changes took until they were applied, this far back.
    pub(crate) async fn times(
        &self,
        since: Duration,
    ) -> Result<proto::GetTimesResponse, CallError> {
        let since = Some(duration_to_wire(since));
        let request = proto::GetTimesRequest { since };
        let answer = ask(CALL_LIMIT, call!(self.client.get_times(request))).await;
        let answer = answer.map_err(|error| error.or_too_old("times of changes"))?;
        Ok(answer.into_inner())
    }

    /// The brake of the fleet.
    pub(crate) async fn brake(&self) -> Result<proto::Brake, CallError> {
        let request = proto::GetBrakeRequest {};
        let answer = ask(CALL_LIMIT, call!(self.client.get_brake(request))).await?;
        present(answer.into_inner().brake, "GetBrakeResponse.brake")
    }

    /// Releases the brake of the fleet, unless more is lost than the caller has `seen`, and returns the brake as it was
    /// set. Does not wait for a run, so it is retried like a query. `by` is for the audit records.
    pub(crate) async fn release_brake(
        &self,
        seen: Option<proto::SeenBrake>,
        by: &OnBehalf,
    ) -> Result<Option<proto::Brake>, ChangeError> {
        let answer = ask(CALL_LIMIT, || {
            let mut client = self.client.clone();
            let request = by.request(proto::ReleaseBrakeRequest { seen });
            async move { client.release_brake(request).await }
        });
        Ok(with_reason(answer.await)?.into_inner().released)
    }

    async fn get_cluster(&self, limit: Duration) -> Result<proto::GetClusterResponse, CallError> {
        // A scheduler that does not serve reports the reason.
        let client = match self.schedulers.unfit() {
            Some(scheduler) => ClusterServiceClient::new(scheduler.channel()),
            None => self.client.clone(),
        };
        let get = || {
            let mut client = client.clone();
            async move { client.get_cluster(proto::GetClusterRequest {}).await }
        };
        Ok(ask(limit, get).await?.into_inner())
    }
}
