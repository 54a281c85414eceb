//! Consent in a store, for a program that calls these services itself: no scheduler of its process serves the store.

use std::sync::Arc;

use cts_core::Clock;
use cts_proto::run::v1::approval_service_server::ApprovalService;
use cts_proto::run::v1::plan_service_server::PlanService;
use cts_store::Store;

use crate::grpc::approval_service::ApprovalEndpoint;
use crate::grpc::lease_proofs::LeaseProofs;
use crate::grpc::plan_service::PlanEndpoint;
use crate::identities::{Identities, RandomIdentities};
use crate::notifier::Notifier;

/// The services about consent, and about plans, over a store. A cts that is running notices decisions by its polls.
pub fn local_consent(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
) -> (impl ApprovalService, impl PlanService) {
    let identities = RandomIdentities;
    let proofs = LeaseProofs {
        // No worker calls these services.
        key: identities.lease_key(),
        required: true,
    };
    let notifier = Arc::new(Notifier::alone(clock, 0));
    let approvals = ApprovalEndpoint::new(
        Arc::clone(&store),
        notifier,
        Arc::new(identities),
        proofs.clone(),
    );
    (approvals, PlanEndpoint::new(store, proofs))
}
