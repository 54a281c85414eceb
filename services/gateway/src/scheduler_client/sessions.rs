//! Logins on the page.

use std::time::Duration;

use cts_access::{Principal, TokenHash};
use cts_proto::access::v1 as proto;
use cts_proto::access::v1::session_service_client::SessionServiceClient;
use cts_rpc::convert::duration_to_wire;
use tonic::transport::Channel;

use super::call::{CALL_LIMIT, CallError, ask, present};
use super::changes::{ChangeError, change};
use super::on_behalf::OnBehalf;

/// The part of the API that needs these calls.
const PART: &str = "login sessions";

/// Begins and ends sessions of one person.
#[derive(Debug, Clone)]
pub(crate) struct SessionClient {
    client: SessionServiceClient<Channel>,
    by: OnBehalf,
}

impl SessionClient {
    /// Calls on behalf of the person who logs in or out.
    pub(crate) fn new(client: SessionServiceClient<Channel>, by: OnBehalf) -> Self {
        Self { client, by }
    }

    /// Begins a session with the rights of a credential, which ends with the static token `token`, if any. Declined as
    /// `Busy` if there are too many sessions, and as `Unknown` if the token has ended.
    pub(crate) async fn begin(
        &self,
        hash: TokenHash,
        principal: &Principal,
        token: Option<TokenHash>,
        lasts: Duration,
    ) -> Result<proto::Session, ChangeError> {
        let request = proto::BeginSessionRequest {
            sha256: hash.0.to_vec(),
            // Schedulers accept no empty role.
            role: principal
                .role
                .map_or_else(String::new, |role| role.to_string()),
            tasks: principal.tasks.texts().to_vec(),
            token_sha256: token.map_or_else(Vec::new, |token| token.0.to_vec()),
            lasts: Some(duration_to_wire(lasts)),
        };
        let answer = change(call!(self.client.begin_session(request) for by)).await;
        let answer = answer.map_err(|error| match error {
            ChangeError::Ask(error) => ChangeError::Ask(error.or_too_old(PART)),
            error => error,
        });
        Ok(present(answer?.session, "BeginSessionResponse.session")?)
    }

    /// Ends a session, which may have ended before.
    pub(crate) async fn end(&self, hash: TokenHash) -> Result<(), CallError> {
        let request = proto::EndSessionRequest {
            sha256: hash.0.to_vec(),
        };
        let answer = ask(CALL_LIMIT, call!(self.client.end_session(request) for by)).await;
        answer.map_err(|error| error.or_too_old(PART))?;
        Ok(())
    }
}
