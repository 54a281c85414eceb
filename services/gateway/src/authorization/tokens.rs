//! The static tokens, as the schedulers send them (docs/access.md#tokens).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cts_access::{TokenEntry, TokenHash, TokenTable};
use cts_core::callers::TaskPatterns;
use cts_proto::access::v1::access_service_client::AccessServiceClient;
use cts_proto::access::v1::{FollowTokensRequest, FollowTokensResponse, Token};
use cts_proto::time::timestamp_from_wire;
use tokio::sync::watch;
use tonic::Status;
use tonic::transport::Channel;

use super::retries::Retries;

/// The newest table. The table stays while no scheduler can be reached.
#[derive(Debug)]
pub(super) struct Tokens {
    table: watch::Sender<Arc<TokenTable>>,
    known: AtomicBool,
}

impl Tokens {
    /// No table yet, and where it will be.
    pub(super) fn new() -> (Self, watch::Receiver<Arc<TokenTable>>) {
        let (table, newest) = watch::channel(Arc::default());
        let known = AtomicBool::new(false);
        (Self { table, known }, newest)
    }

    /// Whether a scheduler has sent a table.
    pub(super) fn are_known(&self) -> bool {
        self.known.load(Ordering::Acquire)
    }

    /// Follows the tokens for ever.
    pub(super) async fn follow(&self, mut schedulers: AccessServiceClient<Channel>) {
        let mut retries = Retries::new("tokens");
        loop {
            let end = self.follow_once(&mut schedulers, &mut retries).await;
            retries.pause(end, self.are_known()).await;
        }
    }

    async fn follow_once(
        &self,
        schedulers: &mut AccessServiceClient<Channel>,
        retries: &mut Retries,
    ) -> Result<(), Status> {
        let answer = schedulers.follow_tokens(FollowTokensRequest {}).await?;
        let mut tables = answer.into_inner();
        while let Some(message) = tables.message().await? {
            self.table.send_replace(Arc::new(table(message)));
            self.known.store(true, Ordering::Release);
            retries.received();
        }
        Ok(())
    }
}

fn table(message: FollowTokensResponse) -> TokenTable {
    TokenTable::new(message.tokens.into_iter().filter_map(|token| {
        let name = token.name.clone();
        let entry = entry(token);
        if entry.is_none() {
            // A newer scheduler may send it. A token must not count without all of its limits.
            tracing::warn!(target: "api", name, "a token cannot be understood and is not accepted");
        }
        entry
    }))
}

fn entry(token: Token) -> Option<TokenEntry> {
    let expires_at = match token.expires_at {
        None => None,
        at @ Some(_) => Some(timestamp_from_wire(at.as_ref())?),
    };
    Some(TokenEntry {
        hash: TokenHash::from_slice(&token.sha256)?,
        role: token.role.parse().ok()?,
        tasks: TaskPatterns::new(token.tasks).ok()?,
        name: token.name,
        expires_at,
    })
}

#[cfg(test)]
mod tests {
    use prost_types::Timestamp;

    use super::*;

    #[test]
    fn a_token_without_a_readable_limit_does_not_count() {
        let good = Token {
            name: "ci".into(),
            sha256: vec![7; 32],
            role: "operate".into(),
            tasks: vec!["web-*".into()],
            expires_at: Some(Timestamp {
                seconds: 1,
                nanos: 0,
            }),
        };
        assert!(entry(good.clone()).is_some());
        let with = |change: fn(&mut Token)| {
            let mut token = good.clone();
            change(&mut token);
            entry(token)
        };
        assert!(with(|token| token.sha256 = vec![7; 31]).is_none());
        assert!(with(|token| token.role = "root".into()).is_none());
        assert!(with(|token| token.tasks = vec!["web-[".into()]).is_none());
        let beyond = with(|token| {
            token.expires_at = Some(Timestamp {
                seconds: i64::MAX,
                nanos: 0,
            });
        });
        assert!(beyond.is_none());
    }
}
