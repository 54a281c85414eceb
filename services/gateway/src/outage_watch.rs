//! Requests that only read, while a call of a scheduler hangs: their answer is the failure of the health check, as soon
//! as the check has failed.

use std::time::Duration;

use axum::response::Response;
use http::Method;
use tokio::time::sleep;

use crate::problem::Problem;
use crate::route::Route;
use crate::scheduler_client::ClusterClient;

/// A reading that takes longer has its answer when a health check fails. Together with the limit of that check, an
/// answer comes within two seconds.
const HEALTH_CHECK_AFTER: Duration = Duration::from_millis(400);

/// Whether the request only reads what a scheduler knows.
pub(crate) fn only_reads(method: &Method, route: &Route) -> bool {
    method == Method::GET
        && !matches!(
            route,
            Route::Preflight | Route::Refused(_) | Route::Document(_) | Route::Health
        )
}

/// The answer, or a problem as soon as no scheduler is known to answer.
pub(crate) async fn unless_unhealthy(
    cluster: &ClusterClient,
    answer: impl Future<Output = Result<Response, Problem>>,
) -> Result<Response, Problem> {
    let mut answer = std::pin::pin!(answer);
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            () = sleep(HEALTH_CHECK_AFTER) => {}
        }
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            checked = cluster.recent() => if let Err(error) = checked
                && error.is_unavailable()
            {
                return Err(Problem::of_failed_call(&error));
            },
        }
    }
}
