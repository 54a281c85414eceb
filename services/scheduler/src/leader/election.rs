//! Leader election: one replica does the work that needs a single owner.
//!
//! Every replica requests the leadership every third of its life, and as soon as the lease may have expired. The leader
//! works until another replica leads. If the leader has not renewed the lease for two thirds of its life (by its own
//! monotonic clock), or the outcome of a write is unknown, the leader writes nothing, and continues with the next
//! epoch: a short outage of the database is no takeover. In addition the leader's writes name the epoch, so that writes
//! of a suspended leader change nothing.
//!
//! Two requests may fail, or get no answer, and a third still renews in time. Only when the third fails too
//! does the replica report that it does not serve.

mod joining;
mod timeouts;

use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use cts_core::lease::LeaseDeadlines;
use cts_core::{Chain, LeaderEpoch};
use cts_rpc::HealthSwitch;
use cts_runtime::{Outage, log_failure};
use cts_store::{InOutage as _, Leadership, Member, Store};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use self::timeouts::RequestTimeouts;
use crate::metrics::Metrics;
use crate::moment::at;
use crate::notifier::Notifier;
use crate::term::Term;

pub(crate) use self::joining::{Joined, join};

/// Longest time for the request that ends the membership.
const GOODBYE_LIMIT: Duration = Duration::from_secs(5);

/// Added to the expiry that other candidates wait for, so that these candidates do not come a moment too early.
const AFTER_EXPIRY: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct LeaderElection {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) member: Member,
    pub(crate) time_to_live: Duration,
    pub(crate) started: Instant,
    pub(crate) metrics: Arc<Metrics>,
    /// Reports to health checks whether this replica can do its work.
    pub(crate) health: HealthSwitch,
}

/// The tasks of one term, separate from the election, so that their computations never delay a renewal. They end when
/// they are dropped.
pub(crate) type LeaderTasks = JoinSet<Infallible>;

/// The state of this replica in the election.
struct ElectionState {
    /// The epoch that may be extended.
    epoch: Option<LeaderEpoch>,
    /// While the lease can be relied on.
    deadlines: Option<LeaseDeadlines>,
    leading: Option<Leading>,
    /// The replica that led last, other than this one, and the end of its lease.
    former: Option<(String, Instant)>,
    next: Instant,
    timeouts: RequestTimeouts,
    /// Another process has the id of this one.
    id_in_use: bool,
    /// Requests are not answered.
    outage: Outage,
    /// The store has logged that the database is unreachable.
    is_logged: bool,
}

/// A term, including its waits for the next epoch.
struct Leading {
    term: Term,
    leader_tasks: LeaderTasks,
    /// The last epoch that the leader's tasks have ended: it is not used again.
    over: Option<LeaderEpoch>,
}

impl LeaderElection {
    /// Takes part until `shutdown`, then frees the leadership. `begin` starts the tasks of a term; `first` is
    /// the outcome of an earlier first request.
    pub(crate) async fn run(
        self,
        first: Joined,
        begin: impl Fn(Term) -> LeaderTasks + Send,
        shutdown: CancellationToken,
    ) {
        let mut state = ElectionState {
            epoch: None,
            deadlines: None,
            leading: None,
            former: None,
            next: Instant::now(),
            timeouts: RequestTimeouts::new(self.time_to_live, first.asked),
            id_in_use: false,
            outage: Outage::default(),
            is_logged: false,
        };
        self.answered(&mut state, first.asked, &first.leadership, &begin);
        loop {
            let give_up = state
                .deadlines
                .map(|deadlines| self.started + deadlines.stop_by());
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = sleep_until(state.next) => self.ask(&mut state, &begin).await,
                () = self.notifier.leadership.notified() => state.next = Instant::now(),
                () = at(give_up) => {
                    state.log_expiry(&self.member.id);
                    self.metrics.follows(None);
                    state.suspend();
                }
                () = at(state.timeouts.over_at()) => {
                    state.timeouts.end();
                    self.health.set_serving(false);
                    tracing::warn!(target: "ha", id = self.member.id, "the database has not answered for long, this replica does not serve");
                }
                () = leader_tasks(&mut state.leading) => state.doubt(),
            }
        }
        // Gone before this returns: the services that the tasks have followed may end then.
        if let Some(mut leading) = state.leading.take() {
            leading.leader_tasks.shutdown().await;
        }
        self.metrics.follows(None);
        self.leave().await;
    }

    /// Frees the leadership and the id.
    async fn leave(&self) {
        match timeout(GOODBYE_LIMIT, self.store.resign(&self.member)).await {
            Ok(Ok(())) => {
                // The hint spares the other replicas the wait for their next poll.
                let published = self.store.publish(&[cts_store::Hint::Leadership]).await;
                if let Err(error) = published {
                    tracing::debug!(error = %Chain(&error), "hints are not published; other replicas poll");
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

    async fn ask(&self, state: &mut ElectionState, begin: &(impl Fn(Term) -> LeaderTasks + Send)) {
        let asked = Instant::now();
        let give_up = state
            .deadlines
            .map(|deadlines| self.started + deadlines.stop_by());
        let limit = state.timeouts.limit(asked, give_up);
        let lead = self
            .store
            .lead(&self.member, state.epoch, self.time_to_live);
        let mut request = std::pin::pin!(timeout(limit, lead));
        // The leader's tasks go on while the store answers.
        let answer = loop {
            tokio::select! {
                answer = &mut request => break answer,
                () = leader_tasks(&mut state.leading) => state.doubt(),
            }
        };
        match answer {
            Ok(Ok(leadership)) => {
                state.timeouts.answered(asked);
                state.outage.works();
                self.health.set_serving(true);
                self.answered(state, asked, &leadership, begin);
                state.is_logged = false;
                return;
            }
            Ok(Err(error)) if error.is_in_outage() => {
                state.is_logged = true;
                tracing::debug!(target: "ha", error = %Chain(&error), "the database cannot be asked for the leadership");
            }
            Ok(Err(error)) => {
                log_failure!(state.outage, target: "ha", error = %Chain(&error), "the database cannot be asked for the leadership");
            }
            // If this goes on, the replica does not serve, which is a line of its own.
            Err(_elapsed) => {
                tracing::debug!(target: "ha", ?limit, "the database does not answer about the leadership in time");
            }
        }
        state.next = Instant::now() + state.timeouts.failed();
    }

    fn answered(
        &self,
        state: &mut ElectionState,
        asked: Instant,
        leadership: &Leadership,
        begin: &(impl Fn(Term) -> LeaderTasks + Send),
    ) {
        let life = self.time_to_live;
        let id_in_use = leadership.id_in_use.is_some();
        if id_in_use && !state.id_in_use {
            tracing::error!(target: "ha", id = self.member.id, "another process has the same id; give each its own");
        }
        state.id_in_use = id_in_use;
        if !leadership.mine {
            if state.leading.is_some() {
                tracing::warn!(target: "ha", id = self.member.id, leader = leadership.leader, "leadership was lost");
            }
            self.metrics.follows(Some(leadership.epoch));
            state.leave();
            state.follow(leadership, &self.member.id, asked);
            state.next = asked + (leadership.expires_in + AFTER_EXPIRY).min(life / 3);
            return;
        }
        let epoch = leadership.epoch;
        self.metrics.leads(epoch, asked);
        let since = asked.saturating_duration_since(self.started);
        state.next = asked + life / 3;
        match &state.leading {
            Some(leading) if leadership.resumed && leading.over >= Some(epoch) => {
                // The epoch was ended while this request was on its way.
                state.next = Instant::now();
            }
            Some(_) if leadership.resumed && state.epoch == Some(epoch) => {
                state.deadlines = state
                    .deadlines
                    .map(|deadlines| deadlines.renewed(since, life));
            }
            Some(leading) if leadership.resumed => {
                leading.term.resume(epoch);
                state.log_next_epoch(&self.member.id, epoch);
                state.hold_in(epoch, LeaseDeadlines::leadership(since, life));
            }
            _ => {
                let term = match state.former.take() {
                    Some((leader, expiry)) => {
                        if asked >= expiry {
                            tracing::warn!(target: "ha", id = self.member.id, leader, "the leader was lost, its lease of the leadership has expired");
                        }
                        Term::after_another(epoch)
                    }
                    None => Term::new(epoch),
                };
                state.leading = Some(Leading {
                    leader_tasks: begin(term.clone()),
                    term,
                    over: None,
                });
                // Runbooks depend on this line.
                tracing::info!(target: "ha", "acquired leadership lock: id={}", self.member.id);
                state.hold_in(epoch, LeaseDeadlines::leadership(since, life));
            }
        }
    }
}

impl ElectionState {
    fn hold_in(&mut self, epoch: LeaderEpoch, deadlines: LeaseDeadlines) {
        self.epoch = Some(epoch);
        self.deadlines = Some(deadlines);
    }

    /// Another process leads: another replica, or an earlier process with the id of this one.
    fn follow(&mut self, leadership: &Leadership, id: &str, asked: Instant) {
        let is_other = leadership.leader != id;
        self.former = is_other.then(|| (leadership.leader.clone(), asked + leadership.expires_in));
    }

    /// During an outage of the database, the line about the outage suffices.
    fn log_expiry(&self, id: &str) {
        if self.is_logged {
            tracing::debug!(target: "ha", id, "leadership could not be renewed in time");
        } else {
            tracing::warn!(target: "ha", id, "leadership could not be renewed in time");
        }
    }

    fn log_next_epoch(&self, id: &str, epoch: LeaderEpoch) {
        let message = "the leader goes on in its next epoch, no other replica has led";
        if self.is_logged {
            tracing::debug!(target: "ha", id, %epoch, "{message}");
        } else {
            tracing::info!(target: "ha", id, %epoch, "{message}");
        }
    }

    /// The lease is no longer certain: the leader writes nothing until it has a new epoch.
    fn suspend(&mut self) {
        self.epoch = None;
        self.deadlines = None;
        if let Some(leading) = &mut self.leading {
            leading.term.suspend();
        }
    }

    /// The leader's tasks have ended the epoch: the next one is requested at once.
    fn doubt(&mut self) {
        if let Some(leading) = &mut self.leading {
            leading.over = leading.over.max(self.epoch);
        }
        self.epoch = None;
        self.deadlines = None;
        self.next = Instant::now();
    }

    /// Ends the term because another replica leads.
    fn leave(&mut self) {
        self.epoch = None;
        self.deadlines = None;
        self.leading = None;
    }
}

/// Runs the leader's tasks until they have ended their epoch.
async fn leader_tasks(leading: &mut Option<Leading>) {
    match leading {
        Some(Leading {
            term, leader_tasks, ..
        }) => tokio::select! {
            ended = leader_tasks.join_next() => match ended.map(|ended| ended.map_err(JoinError::try_into_panic)) {
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
