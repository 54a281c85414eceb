//! Records of calls.

use cts_proto::access::v1::access_service_client::AccessServiceClient;
use cts_proto::access::v1::{ListAuditRecordsRequest, ListAuditRecordsResponse};
use tonic::transport::Channel;

use super::call::{CALL_LIMIT, CallError, ask};
use crate::request::parameters::AuditQuery;

/// Reads audit records; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct AuditClient {
    client: AccessServiceClient<Channel>,
}

impl AuditClient {
    pub(crate) fn new(client: AccessServiceClient<Channel>) -> Self {
        Self { client }
    }

    /// A page of records, newest first.
    pub(crate) async fn records(
        &self,
        query: AuditQuery,
    ) -> Result<ListAuditRecordsResponse, CallError> {
        let request = ListAuditRecordsRequest {
            before: query.before,
            limit: query.limit,
        };
        let answer = ask(CALL_LIMIT, call!(self.client.list_audit_records(request))).await?;
        Ok(answer.into_inner())
    }
}
