//! Health, for load balancers and Consul's check (docs/rest.md#health).

use axum::response::Response;
use http::StatusCode;

use crate::json;
use crate::model::EmptyAnswer;
use crate::problem::Problem;
use crate::scheduler_client::ClusterClient;

/// Whether a scheduler can do its work, regardless of the tasks.
pub(crate) async fn health(questions: &ClusterClient) -> Result<Response, Problem> {
    // A scheduler reads the replicas from its database and reports whether it can write there, too.
    match questions.outage().await {
        Some(reason) => Err(Problem::unfit(&reason)),
        None => Ok(json::answer(StatusCode::OK, &EmptyAnswer {})),
    }
}
