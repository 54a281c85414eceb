//! Refused requests: for the audit records, and wrong credentials for the log (docs/access.md#wrong-credentials).

use std::net::IpAddr;
use std::time::Duration;

use cts_access::{Denied, RefusalSink, Refusals};
use cts_core::callers::{AuditRecord, Caller};
use cts_proto::access::v1::access_service_client::AccessServiceClient;
use cts_proto::access::v1::{RecordRefusalsRequest, Refusal};
use cts_rpc::CallFailure;
use cts_rpc::admission::CallContext;
use http::{Method, Uri};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tonic::Status;
use tonic::transport::Channel;

use crate::request_id::RequestId;

/// Longest time for a scheduler to record a batch; the end of a gateway waits for it, too.
const RECORD_LIMIT: Duration = Duration::from_secs(3);

/// Refusals in one call.
const BATCH: usize = 1_000;

/// Between two warnings of wrong credentials.
const WARNING_EVERY: Duration = Duration::from_mins(1);

/// The parts of a request that its record names.
#[derive(Debug)]
pub(crate) struct RequestSummary {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) address: IpAddr,
    pub(crate) id: RequestId,
}

/// Collects refused requests.
#[derive(Debug, Default)]
pub(super) struct RefusedRequests(Refusals);

impl RefusedRequests {
    pub(super) fn note(&self, caller: Caller, summary: &RequestSummary, reason: &str) {
        let request = format!("{} {}", summary.method, summary.uri.path());
        self.0
            .note(caller, &request, reason, &summary.id.to_string());
    }

    pub(super) async fn record(
        &self,
        schedulers: AccessServiceClient<Channel>,
        end: impl Future<Output = ()>,
    ) {
        self.0.run(Schedulers(schedulers), end).await;
    }
}

struct Schedulers(AccessServiceClient<Channel>);

impl RefusalSink for Schedulers {
    async fn record(&self, records: &[AuditRecord]) -> bool {
        for batch in records.chunks(BATCH) {
            let refusals = batch.iter().map(refusal).collect();
            let mut schedulers = self.0.clone();
            let recording = schedulers.record_refusals(RecordRefusalsRequest { refusals });
            let recorded = timeout(RECORD_LIMIT, recording).await;
            let recorded = recorded
                .unwrap_or_else(|_late| Err(Status::deadline_exceeded("no answer in time")));
            match recorded {
                Ok(_recorded) => {}
                Err(status) => {
                    let error = CallFailure(&status).to_string();
                    tracing::debug!(target: "api", error, "refused requests cannot be recorded yet");
                    return false;
                }
            }
        }
        true
    }
}

fn refusal(record: &AuditRecord) -> Refusal {
    let context = CallContext {
        caller: record.caller.clone(),
        request_id: record.request_id.clone(),
    };
    Refusal {
        caller: Some(context.to_wire()),
        request: record.target.clone(),
        reason: record.outcome.reason().to_owned(),
        count: record.count,
    }
}

/// Warns of wrong credentials, at most once a minute.
#[derive(Debug, Default)]
pub(super) struct FailureLog(Mutex<Failures>);

#[derive(Debug, Default)]
struct Failures {
    warned: Option<Instant>,
    since: u64,
}

impl FailureLog {
    pub(super) fn count(&self, address: IpAddr, denied: &Denied) {
        if let Some(failures) = self.due(Instant::now()) {
            tracing::warn!(
                target: "api", remote_ip = %address, failures, error = denied.to_string(),
                "wrong credentials"
            );
        }
    }

    /// The failures since the last warning, if one is due.
    fn due(&self, now: Instant) -> Option<u64> {
        let mut failures = self.0.lock();
        failures.since += 1;
        let is_early = failures
            .warned
            .is_some_and(|warned| now.duration_since(warned) < WARNING_EVERY);
        if is_early {
            return None;
        }
        failures.warned = Some(now);
        Some(std::mem::take(&mut failures.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_warning_counts_the_failures_since_the_last() {
        let (log, now) = (FailureLog::default(), Instant::now());
        assert_eq!(log.due(now), Some(1));
        for _ in 0..50 {
            assert_eq!(log.due(now + WARNING_EVERY / 2), None);
        }
        assert_eq!(log.due(now + WARNING_EVERY), Some(51));
        assert_eq!(log.due(now + WARNING_EVERY), None);
    }
}
