//! The leadership: one replica of many has the duties that need a single owner (architecture.md 5).
//!
//! Every replica asks for the leadership a third of its life after the last time, and the moment it may be
//! free. Who has it does its duties until it is told that it was deposed, or until it could not
//! renew for two thirds of the life by its own monotonic clock. The duties' writes name the epoch besides, so
//! that one who was asleep meanwhile changes nothing.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cts_core::lease::Hold;
use cts_core::{Chain, LeaderEpoch};
use cts_rpc::HealthSwitch;
use cts_store::{Leadership, Member, Store};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::changes::Changes;

/// Longest time for one request to the store.
const PATIENCE: Duration = Duration::from_secs(5);

/// Pause after a failed request.
const RETRY: Duration = Duration::from_millis(500);

/// Added to the expiry that the leader's rival waits for, so that it does not come a moment too early.
const AFTER_EXPIRY: Duration = Duration::from_millis(20);

/// See the module.
#[derive(Debug)]
pub(crate) struct Campaign {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) changes: Arc<Changes>,
    pub(crate) member: Member,
    pub(crate) time_to_live: Duration,
    pub(crate) started: Instant,
    /// Says whether this replica can do its work, to those who ask for its health.
    pub(crate) health: HealthSwitch,
}

/// Why the duties of a tenure have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TenureEnd {
    /// The store says that the epoch is over.
    Deposed,
    /// A write has failed, and may still happen. Only a new epoch keeps it from undoing a newer one.
    Doubtful,
}

/// The duties of one tenure.
pub(crate) type Duties = Pin<Box<dyn Future<Output = TenureEnd> + Send>>;

/// How things stand.
struct Standing {
    epoch: Option<LeaderEpoch>,
    hold: Option<Hold>,
    duties: Option<Duties>,
    next: Instant,
}

impl Campaign {
    /// Campaigns until `shutdown`, then frees the leadership. `begin` makes the duties of a tenure;
    /// `first` is what a first request has brought already.
    pub(crate) async fn run(
        self,
        first: Option<(Instant, Leadership)>,
        begin: impl Fn(LeaderEpoch) -> Duties + Send,
        shutdown: CancellationToken,
    ) {
        let mut standing = Standing {
            epoch: None,
            hold: None,
            duties: None,
            next: Instant::now(),
        };
        if let Some((asked, leadership)) = first {
            self.answered(&mut standing, asked, &leadership, &begin);
        }
        loop {
            let give_up = standing.hold.map(|hold| self.started + hold.give_up_at());
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = sleep_until(standing.next) => {
                    self.ask(&mut standing, &begin).await;
                }
                () = self.changes.leadership.notified() => standing.next = Instant::now(),
                () = at(give_up) => {
                    tracing::warn!(target: "ha", id = self.member.id, "leadership could not be renewed in time");
                    standing.stop(TenureEnd::Doubtful);
                }
                end = duties(&mut standing.duties) => {
                    tracing::debug!(target: "ha", id = self.member.id, ?end, "tenure is over");
                    standing.stop(end);
                    standing.next = Instant::now();
                }
            }
        }
        let epoch = standing.epoch;
        standing.stop(TenureEnd::Doubtful);
        match tokio::time::timeout(PATIENCE, self.store.resign(&self.member.id, epoch)).await {
            Ok(Ok(())) => {
                // Others need not wait for a poll.
                let told = self.store.publish(&[cts_store::Hint::Leadership]).await;
                if let Err(error) = told {
                    tracing::debug!(error = %Chain(&error), "other replicas are not told; they poll");
                }
            }
            Ok(Err(error)) => {
                tracing::warn!(target: "ha", error = %Chain(&error), "leadership is not freed, it expires by itself");
            }
            Err(elapsed) => {
                tracing::warn!(target: "ha", error = %elapsed, "leadership is not freed, it expires by itself");
            }
        }
    }

    async fn ask(&self, standing: &mut Standing, begin: &(impl Fn(LeaderEpoch) -> Duties + Send)) {
        let asked = Instant::now();
        let give_up = standing.hold.map(|hold| self.started + hold.give_up_at());
        let until = give_up.map_or(asked + PATIENCE, |give_up| give_up.min(asked + PATIENCE));
        let mut request = std::pin::pin!(timeout_at(
            until,
            self.store
                .lead(&self.member, standing.epoch, self.time_to_live)
        ));
        // The duties go on while the store is asked.
        let answer = loop {
            tokio::select! {
                answer = &mut request => break answer,
                end = duties(&mut standing.duties) => standing.stop(end),
            }
        };
        match answer {
            Ok(Ok(leadership)) => {
                self.health.set_serving(true);
                self.answered(standing, asked, &leadership, begin);
            }
            Ok(Err(error)) => {
                tracing::warn!(target: "ha", error = %Chain(&error), "the database cannot be asked for the leadership");
                self.health.set_serving(false);
                standing.next = Instant::now() + RETRY;
            }
            Err(elapsed) => {
                tracing::warn!(target: "ha", error = %elapsed, "the database cannot be asked for the leadership");
                self.health.set_serving(false);
                standing.next = Instant::now() + RETRY;
            }
        }
    }

    fn answered(
        &self,
        standing: &mut Standing,
        asked: Instant,
        leadership: &Leadership,
        begin: &(impl Fn(LeaderEpoch) -> Duties + Send),
    ) {
        let life = self.time_to_live;
        if !leadership.mine {
            if standing.duties.is_some() {
                tracing::warn!(target: "ha", id = self.member.id, leader = leadership.leader, "leadership was lost");
            }
            if leadership.leader == self.member.id && standing.epoch.is_some() {
                tracing::error!(target: "ha", id = self.member.id, "another process has the same id; give each its own");
            }
            standing.stop(TenureEnd::Deposed);
            standing.next = asked + (leadership.expires_in + AFTER_EXPIRY).min(life / 3);
            return;
        }
        let since = asked.saturating_duration_since(self.started);
        let renewed = standing
            .hold
            .filter(|_| standing.epoch == Some(leadership.epoch) && standing.duties.is_some());
        standing.hold = Some(if let Some(hold) = renewed {
            hold.renewed(since, life)
        } else {
            standing.stop(TenureEnd::Deposed);
            standing.duties = Some(begin(leadership.epoch));
            // Operators look for this line (spec/ha.md 1.13).
            tracing::info!(target: "ha", "acquired leadership lock: id={}", self.member.id);
            Hold::leadership(since, life)
        });
        standing.epoch = Some(leadership.epoch);
        standing.next = asked + life / 3;
    }
}

impl Standing {
    /// Ends the duties at once. After a doubtful end the epoch is forgotten, so that the store gives a new
    /// one; after a deposition it is named until the leadership is free, so that two processes of one id do
    /// not depose each other for ever.
    fn stop(&mut self, end: TenureEnd) {
        self.duties = None;
        self.hold = None;
        if end == TenureEnd::Doubtful {
            self.epoch = None;
        }
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

async fn duties(duties: &mut Option<Duties>) -> TenureEnd {
    match duties {
        Some(duties) => duties.await,
        None => std::future::pending().await,
    }
}
