//! Health, for load balancers and Consul's check (spec/api.md 5, spec/ha.md 2.4).

use std::time::Duration;

use axum::response::Response;
use http::StatusCode;

use crate::ask::ClusterQuestions;
use crate::json;
use crate::model::EmptyAnswer;
use crate::problem::Problem;
use crate::server::Health;

/// How old the scheduler's answer may be. Many balancers may ask often; the scheduler is asked once.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Whether `of` is healthy, whatever the tasks do.
pub(crate) async fn health(of: Health, questions: &ClusterQuestions) -> Result<Response, Problem> {
    if of == Health::Scheduler {
        // A scheduler reads the replicas from its database, so that an answer shows that it can.
        questions
            .recent(MAX_AGE)
            .await
            .map_err(|error| Problem::unhealthy(&error))?;
    }
    Ok(json::answer(StatusCode::OK, &EmptyAnswer {}))
}
