//! Records of calls (docs/rest.md#audit-records), a cts-only endpoint.

use axum::response::Response;
use http::StatusCode;

use crate::json;
use crate::model::IdFirst;
use crate::options::LocalTime;
use crate::problem::Problem;
use crate::request::parameters;
use crate::request_id::RequestId;
use crate::scheduler_client::AuditClient;

/// A page of records, newest first.
pub(crate) async fn records(
    questions: &AuditClient,
    query: Option<&str>,
    local_time: &LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let page = questions
        .records(parameters::audit(query)?)
        .await
        .map_err(|error| Problem::unanswered(&error, None, id))?;
    let answer = IdFirst {
        request_id: id,
        message: page,
    };
    Ok(json::answer_in(local_time, StatusCode::OK, &answer))
}
