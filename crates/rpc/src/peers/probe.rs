//! A health check of one peer.

use std::error::Error as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cts_core::{Chain, plain_reason};
use cts_tls::answers_in_plain_text;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tonic::Status;
use tonic::transport::Channel;

use crate::health::serves;

/// Shortest pause between two checks, so that a peer that answers and hangs up is not checked in a tight loop.
const SHORTEST: Duration = Duration::from_millis(50);

/// Next probe of a peer: its time and its destination.
pub(super) struct Probe {
    pub(super) socket: SocketAddr,
    /// Marks whether the answer is still of interest when it comes.
    pub(super) generation: u64,
    pub(super) channel: Channel,
    pub(super) wait: Wait,
    pub(super) limit: Duration,
}

/// Wait before a probe.
pub(super) enum Wait {
    Nothing,
    Pause(Duration),
    /// The pause, or the end of a connection.
    PauseOrLoss(Duration, Arc<Notify>),
}

/// Result of a probe.
pub(super) struct Probed {
    pub(super) socket: SocketAddr,
    pub(super) generation: u64,
    pub(super) verdict: Result<(), Unhealthy>,
    /// Whether the probe came early, because the connection of the peer was lost.
    pub(super) was_lost: bool,
}

/// Reason why a peer is not healthy.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unhealthy {
    #[error("it answers that it does not serve")]
    NotServing,
    #[error("no answer within {0:?}")]
    Silent(Duration),
    /// The innermost cause.
    #[error("{0}")]
    Failed(String),
}

impl Probe {
    pub(super) async fn run(self) -> Probed {
        let was_lost = match self.wait {
            Wait::Nothing => false,
            Wait::Pause(pause) => {
                sleep(pause).await;
                false
            }
            Wait::PauseOrLoss(pause, lost) => {
                sleep(SHORTEST.min(pause)).await;
                tokio::select! {
                    () = sleep(pause.saturating_sub(SHORTEST)) => false,
                    () = lost.notified() => true,
                }
            }
        };
        let verdict = match timeout(self.limit, ask(self.channel)).await {
            Ok(verdict) => verdict,
            Err(_elapsed) => Err(Unhealthy::Silent(self.limit)),
        };
        Probed {
            socket: self.socket,
            generation: self.generation,
            verdict,
            was_lost,
        }
    }
}

async fn ask(channel: Channel) -> Result<(), Unhealthy> {
    match serves(channel).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(Unhealthy::NotServing),
        Err(status) => Err(Unhealthy::Failed(causes(&status))),
    }
}

fn causes(status: &Status) -> String {
    let Some(source) = status.source() else {
        return format!("{:?}: {}", status.code(), status.message());
    };
    if answers_in_plain_text(source) {
        let causes = Chain(source);
        format!("it answers in plain text where TLS is configured (services.tls): {causes}")
    } else {
        tracing::debug!(error = %Chain(source), "a health check failed");
        plain_reason(source)
    }
}
