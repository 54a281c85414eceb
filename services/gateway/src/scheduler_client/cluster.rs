//! Questions about the scheduler replicas.

use std::sync::Arc;
use std::time::Duration;

use cts_proto::cluster::v1 as proto;
use cts_proto::cluster::v1::cluster_service_client::ClusterServiceClient;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tonic::transport::Channel;

use super::{CALL_LIMIT, CallError, ask, chain};

/// Longest wait for an answer that many requests share. Who checks health waits no longer either.
const SHARED_CALL_LIMIT: Duration = Duration::from_secs(2);

/// An answer, or the lack of one, that was given to more than one request.
pub(crate) type SharedAnswer = Result<Arc<proto::GetClusterResponse>, Arc<CallError>>;

/// Asks the cluster service; cheap to clone, and clones share their recent answers.
#[derive(Debug, Clone)]
pub(crate) struct ClusterClient {
    client: ClusterServiceClient<Channel>,
    /// Locked while the question is asked, so that there is one call however many requests want it.
    recent: Arc<Mutex<Option<Recent>>>,
}

#[derive(Debug)]
struct Recent {
    /// When it came. Had it the moment of asking, requests that waited for a slow answer would each
    /// find it too old and ask one after the other.
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

    /// The replicas as they were said to be at most `max_age` ago, requested if they are older. Failures
    /// are shared as well, and logged here, once for all.
    ///
    /// A caller that goes away while it asks leaves the question to the next one that waits.
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
        if let Err(error) = &answer {
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

    /// The configuration in force, and those of the members.
    pub(crate) async fn configuration(&self) -> Result<proto::GetConfigurationResponse, CallError> {
        let answer = ask(CALL_LIMIT, || {
            let mut client = self.client.clone();
            async move {
                let request = proto::GetConfigurationRequest {};
                client.get_configuration(request).await
            }
        })
        .await?;
        Ok(answer.into_inner())
    }

    async fn get_cluster(&self, limit: Duration) -> Result<proto::GetClusterResponse, CallError> {
        let answer = ask(limit, || {
            let mut client = self.client.clone();
            async move { client.get_cluster(proto::GetClusterRequest {}).await }
        })
        .await?;
        Ok(answer.into_inner())
    }
}
