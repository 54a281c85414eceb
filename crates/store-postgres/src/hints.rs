//! Hints to and from other processes, over `NOTIFY`.
//!
//! `NOTIFY` takes a lock of the whole server when its transaction commits, so it has a separate transaction, for
//! which no other transaction waits.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cts_store::{Hint, HintStream, StoreError};
use cts_store_sql::ServerLog;
use futures::StreamExt as _;
use futures::stream;
use sqlx::PgConnection;
use sqlx::postgres::PgListener;
use tokio::time::{sleep, timeout};
use tracing::debug;

use crate::connection::{CONNECT_LIMIT, Target};
use crate::row::{encoded, failed_to};

const CHANNEL: &str = "cts_hints";

/// Postgres accepts payloads below 8000 bytes.
const LONGEST_PAYLOAD: usize = 7900;

/// Time without a hint after which the connection is checked.
const SILENCE: Duration = Duration::from_secs(15);

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Publishes all hints in one statement and one commit.
pub(crate) async fn publish(
    connection: &mut PgConnection,
    hints: &[Hint],
) -> Result<(), StoreError> {
    let payloads = payloads(hints)?;
    if payloads.is_empty() {
        return Ok(());
    }
    sqlx::query("-- publish\nSELECT pg_notify($1, payload) FROM unnest($2::TEXT[]) AS payload")
        .bind(CHANNEL)
        .bind(payloads)
        .execute(connection)
        .await
        .map_err(failed_to("tell hints"))?;
    Ok(())
}

/// JSON lists of hints, each within the limit. A single hint beyond the limit is replaced by a gap.
fn payloads(hints: &[Hint]) -> Result<Vec<String>, StoreError> {
    let mut payloads = Vec::new();
    let mut list = String::new();
    for hint in hints {
        let mut text = encoded("encode a hint", hint)?;
        if text.len() + 2 > LONGEST_PAYLOAD {
            text = encoded("encode a hint", &Hint::Gap)?;
        }
        if list.len() + text.len() + 2 > LONGEST_PAYLOAD {
            payloads.push(format!("[{list}]"));
            list.clear();
        }
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(&text);
    }
    if !list.is_empty() {
        payloads.push(format!("[{list}]"));
    }
    Ok(payloads)
}

/// The hints in a message; a gap for a message that cannot be decoded, for example from a newer program.
fn hints_of(payload: &str) -> Vec<Hint> {
    serde_json::from_str(payload).unwrap_or_else(|error| {
        debug!(%error, "a hint is not understood");
        vec![Hint::Gap]
    })
}

/// Receives hints from now on, without an end.
pub(crate) async fn listen(
    target: Target,
    server_log: Arc<OnceLock<ServerLog>>,
) -> Result<HintStream, StoreError> {
    let connection = connect(&target).await;
    let listener = Listener {
        connection: Some(connection.map_err(failed_to("receive hints"))?),
        target,
        server_log,
        received: VecDeque::new(),
    };
    Ok(stream::unfold(listener, async |mut listener| {
        let hint = listener.next().await;
        Some((hint, listener))
    })
    .boxed())
}

async fn connect(target: &Target) -> Result<PgListener, sqlx::Error> {
    let mut listener = PgListener::connect_with(&target.listener()).await?;
    // The receiver itself restores a broken connection and reports the gap.
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    Ok(listener)
}

/// The connection over which hints arrive, made again when it breaks.
struct Listener {
    target: Target,
    /// The log of outages: the end of this connection is often the first sign of an outage.
    server_log: Arc<OnceLock<ServerLog>>,
    connection: Option<PgListener>,
    received: VecDeque<Hint>,
}

impl Listener {
    async fn next(&mut self) -> Hint {
        loop {
            if let Some(hint) = self.received.pop_front() {
                return hint;
            }
            let Some(connection) = &mut self.connection else {
                self.mend().await;
                continue;
            };
            match timeout(SILENCE, connection.try_recv()).await {
                Ok(Ok(Some(notification))) => {
                    self.received.extend(hints_of(notification.payload()));
                }
                Ok(Ok(None)) => self.lose("the connection was closed"),
                Ok(Err(error)) => self.lose(&error.to_string()),
                Err(_silence) => {
                    let alive = sqlx::query("-- listen: is the connection alive?\nSELECT 1");
                    match timeout(CONNECT_LIMIT, alive.execute(connection)).await {
                        Ok(Ok(_yes)) => {}
                        Ok(Err(error)) => self.lose(&error.to_string()),
                        Err(elapsed) => self.lose(&elapsed.to_string()),
                    }
                }
            }
        }
    }

    fn lose(&mut self, reason: &str) {
        // Other calls find out whether the database is unreachable, and the store logs that.
        debug!(
            reason,
            "hints of other processes are not received for the moment"
        );
        self.connection = None;
    }

    /// Whether a connection can be opened; a single attempt, where the pool would keep trying.
    async fn is_reachable(&self) -> bool {
        let call = self.server_log.get().map(ServerLog::begin);
        let Ok(connected) = timeout(CONNECT_LIMIT, self.target.try_to_connect()).await else {
            return false;
        };
        let connected = connected.map_err(failed_to("receive hints"));
        if let Some((log, call)) = self.server_log.get().zip(call) {
            log.note(call, connected.as_ref().err());
        }
        connected.is_ok()
    }

    async fn mend(&mut self) {
        let mut wait = FIRST_WAIT;
        loop {
            if !self.is_reachable().await {
                sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
                continue;
            }
            match timeout(CONNECT_LIMIT, connect(&self.target)).await {
                Ok(Ok(connection)) => {
                    debug!("hints of other processes are received again");
                    self.connection = Some(connection);
                    self.received.push_back(Hint::Gap);
                    return;
                }
                Ok(Err(error)) => debug!(%error, "hints are not received"),
                Err(elapsed) => debug!(%elapsed, "hints are not received"),
            }
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cts_core::TaskName;
    use cts_core::runs::{RunKind, RunStatus};

    fn run(name: &str) -> Hint {
        Hint::Run {
            run: cts_core::RunId::from_uuid(uuid::Uuid::from_u128(1)),
            task: TaskName::new(name).unwrap(),
            kind: RunKind::Apply,
            status: RunStatus::Queued,
            at: chrono::DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn many_hints_become_few_payloads_that_postgres_takes() {
        let hints: Vec<_> = (0..1000).map(|n| run(&format!("task-{n}"))).collect();
        let payloads = payloads(&hints).unwrap();
        assert!(payloads.len() > 1);
        assert!(payloads.iter().all(|payload| payload.len() < 8000));
        let received: Vec<_> = payloads
            .iter()
            .flat_map(|payload| hints_of(payload))
            .collect();
        assert_eq!(received, hints);
    }

    #[test]
    fn a_hint_too_long_says_to_look_at_everything() {
        let long = run(&"x".repeat(9000));
        let payloads = payloads(&[Hint::Queue, long, Hint::Tasks]).unwrap();
        assert_eq!(payloads.len(), 1);
        let expected = [Hint::Queue, Hint::Gap, Hint::Tasks];
        assert_eq!(hints_of(&payloads[0]), expected);
    }

    #[test]
    fn no_hints_are_no_payload() {
        assert_eq!(payloads(&[]).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn unreadable_hints_count_as_a_gap() {
        assert_eq!(hints_of(r#"["news"]"#), [Hint::Gap]);
        assert_eq!(hints_of(""), [Hint::Gap]);
    }
}
