//! Waiting at the start for Consul and the database (docs/cli.md#waiting-at-the-start).

mod stand_in;

use std::sync::Arc;
use std::time::Duration;

use cts_config::Config;
use cts_core::{Absence, plain_reason};
use cts_runtime::ProcessEnv;
use cts_runtime::Reachability;
use cts_store::StoreError;

pub(crate) use self::stand_in::Api;
use self::stand_in::StandIn;
use crate::failure::Failure;
use crate::services::wiring::AbsentPeers;

/// Pause between two tries.
const PAUSE: Duration = Duration::from_secs(1);

/// A start that waits for its dependencies.
pub(crate) struct Waiting<'a> {
    config: &'a Config,
    process_env: &'a ProcessEnv,
    absent_peers: AbsentPeers,
    api: Option<Api<'a>>,
    stand_in: Option<StandIn>,
}

impl<'a> Waiting<'a> {
    /// Begins without a wait. `api` is served while there is one.
    pub(crate) const fn new(
        config: &'a Config,
        process_env: &'a ProcessEnv,
        absent_peers: AbsentPeers,
        api: Option<Api<'a>>,
    ) -> Self {
        Self {
            config,
            process_env,
            absent_peers,
            api,
            stand_in: None,
        }
    }

    /// Repeats `attempt` as long as nothing answers it. Fails at once for any other reason, also for a name that could
    /// not be resolved in the beginning. Dropping the future ends the wait.
    pub(crate) async fn until<T>(
        &mut self,
        mut attempt: impl AsyncFnMut() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut outage: Option<Reachability> = None;
        loop {
            let failure = match attempt().await {
                Ok(value) => {
                    let ended = outage.and_then(|outage| outage.answers(outage.begin()));
                    if let Some((line, _failures)) = ended {
                        tracing::info!(target: "cli", "{line}");
                    }
                    return Ok(value);
                }
                Err(failure) => failure,
            };
            let Some(missing) = self.missing(&failure, outage.is_some()) else {
                return Err(failure);
            };
            let outage = outage.get_or_insert_with(|| {
                Reachability::new(missing.peer, Arc::clone(&self.process_env.clock))
            });
            if let Some(line) = outage.fails(outage.begin(), Some(missing.reason)) {
                let code = failure.code().as_str();
                tracing::warn!(target: "cli", code, "{line}");
                self.tell(&line)?;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Ends the answers of the wait. Requests in progress are answered first.
    pub(crate) async fn end(self) -> Result<(), Failure> {
        match self.stand_in {
            Some(stand_in) => stand_in.end().await,
            None => Ok(()),
        }
    }

    /// The peer that is waited for, and why; `None` if waiting is of no use.
    fn missing(&self, failure: &Failure, is_waiting: bool) -> Option<Missing> {
        if self.absent_peers == AbsentPeers::Fail {
            return None;
        }
        let missing = Missing::of(failure)?;
        // A name may disappear together with its server.
        (missing.absence == Absence::Silent || is_waiting).then_some(missing)
    }

    fn tell(&mut self, reason: &str) -> Result<(), Failure> {
        match (&self.stand_in, &self.api) {
            (Some(stand_in), _) => stand_in.tell(reason),
            (None, Some(api)) => {
                let stand_in = StandIn::begin(self.config, self.process_env, api, reason)?;
                self.stand_in = Some(stand_in);
            }
            (None, None) => {}
        }
        Ok(())
    }
}

/// A peer without an answer.
struct Missing {
    peer: String,
    reason: String,
    absence: Absence,
}

impl Missing {
    fn of(failure: &Failure) -> Option<Self> {
        match failure {
            Failure::NoLeader { address } => Some(Self {
                peer: format!("Consul at {address}"),
                reason: "its cluster has no leader".to_owned(),
                absence: Absence::Silent,
            }),
            Failure::Consul { address, source } => Some(Self {
                peer: format!("Consul at {address}"),
                reason: plain_reason(source),
                absence: source.absence()?,
            }),
            Failure::Store(error @ StoreError::Open { location, .. }) => Some(Self {
                peer: format!("Postgres at {}", server(location)),
                reason: plain_reason(error),
                absence: cts_store_postgres::absence(error)?,
            }),
            _ => None,
        }
    }
}

/// The server in `postgres://HOST:PORT/DATABASE`.
fn server(location: &str) -> &str {
    let location = location.strip_prefix("postgres://").unwrap_or(location);
    location
        .rsplit_once('/')
        .map_or(location, |(server, _)| server)
}

#[cfg(test)]
mod tests {
    use super::server;

    #[test]
    fn the_server_is_named_without_its_database() {
        assert_eq!(server("postgres://db.example:5432/cts"), "db.example:5432");
        let socket = "postgres:///run/postgresql/.s.PGSQL.5432/cts";
        assert_eq!(server(socket), "/run/postgresql/.s.PGSQL.5432");
    }
}
