//! The endpoints (docs/rest.md#routes).

pub(crate) mod audit;
pub(crate) mod changes;
pub(crate) mod health;
pub(crate) mod leader;
pub(crate) mod legacy_family;
pub(crate) mod new_family;
pub(crate) mod overview;
pub(crate) mod runs;

use crate::problem::Family;
use crate::request_id::RequestId;
use crate::route::Route;

/// The family of a route's errors. Health has the family of the legacy endpoints: it has no request id
/// (docs/rest.md#health).
pub(crate) fn family(route: &Route, id: RequestId) -> Family {
    match route {
        Route::ClusterStatus
        | Route::Configuration
        | Route::Queue
        | Route::Overview
        | Route::CurrentStates
        | Route::DrainWorker(_)
        | Route::Tasks
        | Route::Task(_)
        | Route::CreateTask
        | Route::ReplaceTask(_)
        | Route::DeleteTask(_)
        | Route::ReleaseTask(_)
        | Route::PlanDestruction(_)
        | Route::TerraformState(_)
        | Route::DecideState(_)
        | Route::ExplainTask(_)
        | Route::Runs
        | Route::Run(_)
        | Route::CancelRun(_)
        | Route::RunLog(_)
        | Route::Events
        | Route::Audit
        | Route::Document(_) => Family::New(id),
        Route::Health
        | Route::OverallStatus
        | Route::TaskStatuses
        | Route::TaskStatus(_)
        | Route::UpdateTask(_)
        | Route::Preflight
        | Route::Refused(_) => Family::Legacy,
    }
}
