//! `cts.access.v1.AccessService`: tokens for gateways, and records of calls.

use std::pin::Pin;
use std::sync::Arc;

use cts_core::callers::{AuditAction, AuditOutcome, AuditRecord};
use cts_proto::access::v1 as proto;
use cts_proto::access::v1::access_service_server::AccessService;
use cts_rpc::admission::CallContext;
use cts_rpc::convert;
use cts_store::{Store, StoredToken};
use futures::{Stream, StreamExt as _};
use tokio_stream::wrappers::WatchStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use crate::status::OrStatus as _;
use crate::tokens::Tokens;
use crate::wire::audit_record_to_wire;

/// Most records in one answer.
const MOST: u32 = 1000;

/// Records in an answer if the caller names no number.
const USUAL: u32 = 100;

#[derive(Debug)]
pub(crate) struct AccessEndpoint {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tokens: Tokens,
    pub(crate) shutdown: CancellationToken,
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl AccessService for AccessEndpoint {
    type FollowTokensStream = Answers<proto::FollowTokensResponse>;

    async fn follow_tokens(
        &self,
        _request: Request<proto::FollowTokensRequest>,
    ) -> Result<Response<Self::FollowTokensStream>, Status> {
        let tokens = WatchStream::new(self.tokens.follow());
        let answers = tokens.filter_map(async |tokens| {
            let tokens = tokens?.iter().map(token_to_wire).collect();
            Some(Ok(proto::FollowTokensResponse { tokens }))
        });
        let shutdown = self.shutdown.clone().cancelled_owned();
        Ok(Response::new(Box::pin(answers.take_until(shutdown))))
    }

    async fn record_refusals(
        &self,
        request: Request<proto::RecordRefusalsRequest>,
    ) -> Result<Response<proto::RecordRefusalsResponse>, Status> {
        let refusals = request.into_inner().refusals;
        if refusals.len() > MOST as usize {
            return Err(Status::invalid_argument("at most 1,000 refusals at once"));
        }
        let records: Vec<AuditRecord> = refusals.into_iter().map(refusal_from_wire).collect();
        self.store.audit(&records).await.or_status()?;
        Ok(Response::new(proto::RecordRefusalsResponse {}))
    }

    async fn list_audit_records(
        &self,
        request: Request<proto::ListAuditRecordsRequest>,
    ) -> Result<Response<proto::ListAuditRecordsResponse>, Status> {
        let request = request.into_inner();
        let limit = if request.limit == 0 {
            USUAL
        } else {
            request.limit
        };
        let before = (request.before > 0).then_some(request.before);
        let records = self.store.audit_records(before, limit.min(MOST)).await;
        let records = records.or_status()?.into_iter().map(audit_record_to_wire);
        Ok(Response::new(proto::ListAuditRecordsResponse {
            records: records.collect(),
        }))
    }
}

fn token_to_wire(token: &StoredToken) -> proto::Token {
    proto::Token {
        name: token.name.clone(),
        sha256: token.sha256.to_vec(),
        // Gateways accept no token with an empty role.
        role: token.role.map_or_else(String::new, |role| role.to_string()),
        tasks: token.tasks.clone(),
        expires_at: token.expires_at.map(convert::timestamp_to_wire),
    }
}

fn refusal_from_wire(refusal: proto::Refusal) -> AuditRecord {
    let CallContext { caller, request_id } =
        CallContext::from_wire(&refusal.caller.unwrap_or_default());
    AuditRecord {
        request_id,
        count: refusal.count.max(1),
        ..AuditRecord::new(caller, AuditAction::Request, &refusal.request)
            .ended(AuditOutcome::Refused(refusal.reason))
    }
}
