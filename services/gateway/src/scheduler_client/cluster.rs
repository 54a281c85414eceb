//! Questions about the scheduler replicas.

use std::sync::Arc;
use std::time::Duration;

use cts_proto::cluster::v1 as proto;
use cts_proto::cluster::v1::cluster_service_client::ClusterServiceClient;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tonic::transport::Channel;

use super::{CALL_LIMIT, CallError, ask, chain};

/// Longest wait for an answer that many requests share. Health checks do not wait longer either.
const SHARED_CALL_LIMIT: Duration = Duration::from_millis(1500);

/// A result, an answer or an error, that more than one request got.
pub(crate) type SharedAnswer = Result<Arc<proto::GetClusterResponse>, Arc<CallError>>;

/// Calls the cluster service; cheap to clone, and clones share their recent answers.
#[derive(Debug, Clone)]
pub(crate) struct ClusterClient {
    client: ClusterServiceClient<Channel>,
    /// Locked while the call is made, so that any number of requests makes one call.
    recent: Arc<Mutex<Option<Recent>>>,
}

#[derive(Debug)]
struct Recent {
    /// When the answer came. With the moment of the call instead, requests that waited for a slow answer
    /// would each find it too old and call one after the other.
    at: Instant,
    answer: SharedAnswer,
}

impl ClusterClient {
    pub(crate) fn new(client: ClusterServiceClient<Channel>) -> Self {
        Self {
            client,
            recent: Arc::default(),
        }
    }

    /// The replicas as they are now.
    pub(crate) async fn cluster(&self) -> Result<proto::GetClusterResponse, CallError> {
        self.get_cluster(CALL_LIMIT).await
    }

    /// The replicas from an answer that is at most `max_age` old; an older answer is requested again.
    /// Failures are shared as well, and logged here, once for all.
    ///
    /// If the caller that sends the request goes away, the next waiting caller sends it again.
    pub(crate) async fn recent(&self, max_age: Duration) -> SharedAnswer {
        let mut recent = self.recent.lock().await;
        if let Some(Recent { at, answer }) = &*recent
            && at.elapsed() < max_age
        {
            return answer.clone();
        }
        let answer = self
            .get_cluster(SHARED_CALL_LIMIT)
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
        *recent = Some(Recent {
            at: Instant::now(),
            answer: answer.clone(),
        });
        answer
    }

    /// The configuration in force, and the ones of the members.
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

    async fn get_cluster(&self, limit: Duration) -> Result<proto::GetClusterResponse, CallError> {
        let request = proto::GetClusterRequest {};
        let answer = ask(limit, call!(self.client.get_cluster(request))).await?;
        Ok(answer.into_inner())
    }
}
