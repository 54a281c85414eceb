//! The leadership: one replica of many has the duties that need a single owner.
//!
//! Every replica asks for the leadership a third of its life after the last time, and the moment it may be
//! free. The leader does its duties until another leads. While it could not renew for two thirds of the life by
//! its own monotonic clock, or after a write whose outcome is not known, they write nothing, and go on with the
//! next epoch: a database that was away for a moment is no takeover. The duties' writes name the epoch
//! besides, so that a leader that was asleep meanwhile changes nothing.
//!
//! Two requests may fail, or get no answer, and a third still renews in time. Only when that has failed too does
//! the replica say that it does not serve.

mod joining;
mod patience;

use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use cts_core::lease::Hold;
use cts_core::{Chain, LeaderEpoch};
use cts_rpc::HealthSwitch;
use cts_store::{Leadership, Member, Store};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use self::patience::Patience;
use crate::changes::Changes;
use crate::term::Term;

pub(crate) use self::joining::{Joined, join};

/// Longest time for the request that ends the membership.
const GOODBYE_LIMIT: Duration = Duration::from_secs(5);

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

/// The duties of one term: a task of its own, so that nothing that they compute delays a renewal. They end when they
/// are dropped.
pub(crate) type Duties = JoinSet<Infallible>;

/// How things stand.
struct Standing {
    /// The epoch that may be extended.
    epoch: Option<LeaderEpoch>,
    /// While the lease can be relied on.
    hold: Option<Hold>,
    leading: Option<Leading>,
    next: Instant,
    patience: Patience,
    /// Another process has the id of this one.
    id_in_use: bool,
}

/// A term, also while it waits for its next epoch.
struct Leading {
    term: Term,
    duties: Duties,
    /// The last epoch that the duties have ended: it is not used again.
    over: Option<LeaderEpoch>,
}

impl Campaign {
    /// Campaigns until `shutdown`, then frees the leadership. `begin` makes the duties of a term;
    /// `first` is what a first request has brought already.
    pub(crate) async fn run(
        self,
        first: Joined,
        begin: impl Fn(Term) -> Duties + Send,
        shutdown: CancellationToken,
    ) {
        let mut standing = Standing {
            epoch: None,
            hold: None,
            leading: None,
            next: Instant::now(),
            patience: Patience::new(self.time_to_live, first.asked),
            id_in_use: false,
        };
        self.answered(&mut standing, first.asked, &first.leadership, &begin);
        loop {
            let give_up = standing.hold.map(|hold| self.started + hold.give_up_at());
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = sleep_until(standing.next) => self.ask(&mut standing, &begin).await,
                () = self.changes.leadership.notified() => standing.next = Instant::now(),
                () = at(give_up) => {
                    tracing::warn!(target: "ha", id = self.member.id, "leadership could not be renewed in time");
                    standing.suspend();
                }
                () = at(standing.patience.over_at()) => {
                    standing.patience.end();
                    self.health.set_serving(false);
                    tracing::warn!(target: "ha", id = self.member.id, "the database has not answered for long, this replica does not serve");
                }
                () = duties(&mut standing.leading) => standing.doubt(),
            }
        }
        // Gone before this returns: what they have followed may end then.
        if let Some(mut leading) = standing.leading.take() {
            leading.duties.shutdown().await;
        }
        self.leave().await;
    }

    /// Frees the leadership and the id.
    async fn leave(&self) {
        match timeout(GOODBYE_LIMIT, self.store.resign(&self.member)).await {
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

    async fn ask(&self, standing: &mut Standing, begin: &(impl Fn(Term) -> Duties + Send)) {
        let asked = Instant::now();
        let give_up = standing.hold.map(|hold| self.started + hold.give_up_at());
        let limit = standing.patience.limit(asked, give_up);
        let lead = self
            .store
            .lead(&self.member, standing.epoch, self.time_to_live);
        let mut request = std::pin::pin!(timeout(limit, lead));
        // The duties go on while the store is asked.
        let answer = loop {
            tokio::select! {
                answer = &mut request => break answer,
                () = duties(&mut standing.leading) => standing.doubt(),
            }
        };
        let error = match answer {
            Ok(Ok(leadership)) => {
                standing.patience.answered(asked);
                self.health.set_serving(true);
                return self.answered(standing, asked, &leadership, begin);
            }
            Ok(Err(error)) => Chain(&error).to_string(),
            Err(elapsed) => format!("no answer within {limit:?}: {elapsed}"),
        };
        tracing::warn!(target: "ha", error, "the database cannot be asked for the leadership");
        standing.next = Instant::now() + standing.patience.failed();
    }

    fn answered(
        &self,
        standing: &mut Standing,
        asked: Instant,
        leadership: &Leadership,
        begin: &(impl Fn(Term) -> Duties + Send),
    ) {
        let life = self.time_to_live;
        let id_in_use = leadership.id_in_use.is_some();
        if id_in_use && !standing.id_in_use {
            tracing::error!(target: "ha", id = self.member.id, "another process has the same id; give each its own");
        }
        standing.id_in_use = id_in_use;
        if !leadership.mine {
            if standing.leading.is_some() {
                tracing::warn!(target: "ha", id = self.member.id, leader = leadership.leader, "leadership was lost");
            }
            standing.leave();
            standing.next = asked + (leadership.expires_in + AFTER_EXPIRY).min(life / 3);
            return;
        }
        let epoch = leadership.epoch;
        let since = asked.saturating_duration_since(self.started);
        standing.next = asked + life / 3;
        match &standing.leading {
            Some(leading) if leadership.resumed && leading.over >= Some(epoch) => {
                // It was ended while this was asked.
                standing.next = Instant::now();
            }
            Some(_) if leadership.resumed && standing.epoch == Some(epoch) => {
                standing.hold = standing.hold.map(|hold| hold.renewed(since, life));
            }
            Some(leading) if leadership.resumed => {
                leading.term.resume(epoch);
                tracing::info!(target: "ha", id = self.member.id, %epoch, "the leader goes on in its next epoch, nobody else has led");
                standing.hold_in(epoch, Hold::leadership(since, life));
            }
            _ => {
                let term = Term::new(epoch);
                standing.leading = Some(Leading {
                    duties: begin(term.clone()),
                    term,
                    over: None,
                });
                // Operators look for this line.
                tracing::info!(target: "ha", "acquired leadership lock: id={}", self.member.id);
                standing.hold_in(epoch, Hold::leadership(since, life));
            }
        }
    }
}

impl Standing {
    fn hold_in(&mut self, epoch: LeaderEpoch, hold: Hold) {
        self.epoch = Some(epoch);
        self.hold = Some(hold);
    }

    /// The lease cannot be relied on any more: the duties write nothing until there is another.
    fn suspend(&mut self) {
        self.epoch = None;
        self.hold = None;
        if let Some(leading) = &mut self.leading {
            leading.term.suspend();
        }
    }

    /// The duties have ended the epoch: the next one is asked for at once.
    fn doubt(&mut self) {
        if let Some(leading) = &mut self.leading {
            leading.over = leading.over.max(self.epoch);
        }
        self.epoch = None;
        self.hold = None;
        self.next = Instant::now();
    }

    /// Another leads.
    fn leave(&mut self) {
        self.epoch = None;
        self.hold = None;
        self.leading = None;
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Does the duties, until they have ended their epoch.
async fn duties(leading: &mut Option<Leading>) {
    match leading {
        Some(Leading { term, duties, .. }) => tokio::select! {
            ended = duties.join_next() => match ended.map(|ended| ended.map_err(JoinError::try_into_panic)) {
                Some(Ok(never)) => match never {},
                Some(Err(Ok(panic))) => resume_unwind(panic),
                // The runtime ends.
                Some(Err(Err(_))) | None => std::future::pending().await,
            },
            () = term.ended() => {}
        },
        None => std::future::pending().await,
    }
}
