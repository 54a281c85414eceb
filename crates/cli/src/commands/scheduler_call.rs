//! Calls of a scheduler.

use std::time::Duration;

use cts_api_client::token_source;
use cts_rpc::CallFailure;
use cts_runtime::ProcessEnv;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use crate::arguments::SchedulerPlace;
use crate::error::CommandError;

/// Longest time for a call; it includes finding a scheduler that lives.
const CALL: Duration = Duration::from_secs(10);

/// The way to a scheduler, and the token that calls carry.
#[derive(Debug)]
pub(crate) struct SchedulerCalls {
    channel: Channel,
    authorization: Option<MetadataValue<Ascii>>,
}

impl SchedulerCalls {
    pub(crate) fn new(
        channel: &Channel,
        place: &SchedulerPlace,
        process_env: &ProcessEnv,
    ) -> Result<Self, CommandError> {
        let source = token_source(
            place.client.token_file.as_deref(),
            &process_env.text_environment(),
        );
        let token = source.map(|source| source.read()).transpose()?;
        // A token has only characters that metadata may have.
        let authorization = token.and_then(|token| token.authorization().parse().ok());
        let authorization = authorization.map(|mut value: MetadataValue<Ascii>| {
            value.set_sensitive(true);
            value
        });
        Ok(Self {
            channel: channel.clone(),
            authorization,
        })
    }

    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// The request that carries `message` with the token.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(authorization) = &self.authorization {
            let metadata = request.metadata_mut();
            metadata.insert("authorization", authorization.clone());
        }
        request
    }
}

/// The answer to a call of a scheduler, or why the call failed.
pub(crate) async fn answered<T>(
    call: impl Future<Output = Result<T, Status>>,
) -> Result<T, CommandError> {
    match tokio::time::timeout(CALL, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(status)) if status.code() == Code::NotFound => {
            Err(CommandError::Call(status.message().to_owned()))
        }
        Ok(Err(status)) => Err(CommandError::Call(format!(
            "the scheduler did not do it: {}{}",
            CallFailure(&status),
            advice(status.code())
        ))),
        Err(_elapsed) => Err(CommandError::Call(format!(
            "no scheduler has answered within {} s; name one with -scheduler, or in services.schedulers",
            CALL.as_secs()
        ))),
    }
}

fn advice(code: Code) -> &'static str {
    match code {
        Code::Unauthenticated => "; give a valid token with -token-file or CTS_TOKEN",
        Code::PermissionDenied => {
            "; name another token with -token-file or CTS_TOKEN, or a certificate with another role"
        }
        _ => "",
    }
}
