//! Health, for load balancers and Consul's check (docs/rest.md#health).

use std::time::Duration;

use axum::response::Response;
use http::StatusCode;

use crate::model::EmptyAnswer;
use crate::problem::Problem;
use crate::scheduler_client::ClusterClient;
use crate::transport::json;

/// How old the scheduler's answer may be. Many balancers may ask often; the scheduler is asked once.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Whether a scheduler can do its work, whatever the tasks do.
pub(crate) async fn health(questions: &ClusterClient) -> Result<Response, Problem> {
    // A scheduler reads the replicas from its database and reports whether it can write there, too.
    let cluster = questions
        .recent(MAX_AGE)
        .await
        .map_err(|error| Problem::unhealthy(&error))?;
    if !cluster.unhealthy.is_empty() {
        return Err(Problem::unfit(&cluster.unhealthy));
    }
    Ok(json::answer(StatusCode::OK, &EmptyAnswer {}))
}
