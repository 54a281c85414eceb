//! Calls of the scheduler. Only the calls in `changes`, decisions in `approvals` and the cancellation of a run change
//! anything; every other call may be repeated.

/// A call that can be repeated: its client and its request are cloned for each attempt.
macro_rules! call {
    ($caller:ident.$client:ident.$method:ident($request:ident)) => {
        || {
            let (mut client, request) = ($caller.$client.clone(), $request.clone());
            async move { client.$method(request).await }
        }
    };
    // For the client of this request.
    ($caller:ident.$client:ident.$method:ident($request:ident) for $by:ident) => {
        || {
            let (mut client, request) = ($caller.$client.clone(), $request.clone());
            let request = $caller.$by.request(request);
            async move { client.$method(request).await }
        }
    };
}

mod approvals;
mod audit;
mod call;
mod changes;
mod cluster;
pub(crate) mod on_behalf;
pub(crate) mod overview_board;
pub(crate) mod run_events;
mod runs;
pub(crate) mod sessions;
pub(crate) mod single_flight;
mod state_list;
pub(crate) mod status_board;
mod tasks;
mod workers;

pub(crate) use approvals::ApprovalClient;
pub(crate) use audit::AuditClient;
pub(crate) use call::{CallError, NO_SCHEDULER, chain};
pub(crate) use changes::{ChangeError, Reason, TaskChangeClient};
pub(crate) use cluster::ClusterClient;
pub(crate) use runs::RunClient;
pub(crate) use tasks::TaskClient;
pub(crate) use workers::WorkerClient;
