//! The loop that turns changes and requests into queued runs: one desk, one writer.

mod freeze;
mod look;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use cts_core::{Clock, ViewId};
use cts_rpc::Peers;
use cts_store::{EnqueueRequest, Store, Unchanged};
use futures::FutureExt as _;
use tokio::time::Instant;

use self::look::{Looks, Seen};
use crate::changes::Changes;
use crate::desk::{Desk, ViewProblem};
use crate::explain::Journal;
use crate::following::{Following, News, Trouble};
use crate::identities::Identities;
use crate::mode::{Mode, Round};
use crate::recent_inputs::RecentInputs;
use crate::scheduler::SettingsDigest;
use crate::term::Term;

/// Wait before what could not be stored is tried again.
const STORE_RETRY: Duration = Duration::from_secs(1);

/// Deltas that are taken up before their tasks are queued, if so many are at hand.
const AT_ONCE: usize = 1024;

#[derive(Debug)]
pub(crate) struct Duty {
    pub(crate) desk: Desk,
    pub(crate) term: Term,
    pub(crate) mode: Mode,
    pub(crate) round: Arc<Round>,
    /// What the first input of each task means that is applied already.
    pub(crate) first_pass: Unchanged,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) watchers: Peers,
    pub(crate) identities: Arc<dyn Identities>,
    pub(crate) settings_digest: SettingsDigest,
    pub(crate) changes: Arc<Changes>,
    pub(crate) recent_inputs: Arc<RecentInputs>,
    pub(crate) clock: Arc<dyn Clock>,
    /// How long requests wait for a complete input.
    pub(crate) input_patience: Duration,
    pub(crate) started: Instant,
    /// What is to be queued, and may be already: the outcome of a write is not known. Repeating it
    /// with the same run ids changes nothing then.
    pub(crate) unsaved: Vec<EnqueueRequest>,
    /// After a failed write.
    pub(crate) not_before: Option<Instant>,
}

impl Duty {
    /// Works until it is dropped, when the term is over.
    pub(crate) async fn run(mut self) -> Infallible {
        // In a mode with one round the tasks are those of the beginning.
        let dynamic = !self.mode.is_one_round();
        if self.desk.is_empty() {
            tracing::info!(target: "ctrl", "no enabled tasks are configured");
            if !dynamic {
                return std::future::pending().await;
            }
        }
        let mut following = Following::new(&self.watchers, self.desk.views());
        let mut looks = Looks::begin(Instant::now());
        let mut seen = Seen::default();
        let base = self.clock.now() - self.started.elapsed();
        let store = Arc::clone(&self.store);
        let mut journal = Journal::new(self.term.clone(), store, base, Instant::now());
        let changes = Arc::clone(&self.changes);
        let mut epochs = self.term.follow();
        loop {
            let next = self.next_writing();
            let may_write = self.term.epoch().is_some();
            tokio::select! {
                news = following.next() => {
                    self.take_up(news, &mut following);
                    // One transaction for all that has come meanwhile, so that a slow database does not let the
                    // planner fall behind.
                    for _ in 1..AT_ONCE {
                        let Some(news) = following.next().now_or_never() else { break };
                        self.take_up(news, &mut following);
                    }
                }
                () = at(next), if may_write => {}
                Ok(()) = epochs.changed() => {}
                () = changes.tasks.notified(), if dynamic => {
                    looks.hint(Instant::now());
                    continue;
                }
                () = tokio::time::sleep_until(looks.next()), if dynamic && may_write => {
                    self.look(&mut following, &mut looks, &mut seen).await;
                }
                () = journal.write(), if dynamic => {
                    let now = self.clock.now();
                    journal.note(self.desk.changes(), self.desk.outlines(), now);
                    continue;
                }
            }
            self.carry_out().await;
        }
    }

    /// When there is something to write.
    fn next_writing(&self) -> Option<Instant> {
        let due = if self.unsaved.is_empty() {
            self.started.checked_add(self.desk.next_due()?)
        } else {
            Some(self.started)
        };
        due.max(self.not_before)
    }
}

impl Duty {
    fn take_up(&mut self, news: News, following: &mut Following) {
        match news {
            News::Delta(view, delta) => {
                if let Err(error) = self.desk.observe(&view, delta, self.started.elapsed()) {
                    tracing::debug!(view.id = %view, error = %error, "a delta does not fit");
                    following.again(&view);
                }
            }
            News::Trouble(views, trouble) => self.note_trouble(&views, &trouble),
        }
    }

    fn note_trouble(&mut self, views: &[ViewId], trouble: &Trouble) {
        let now = self.clock.now();
        // What a watcher says may be beyond all that a moment can be.
        let delta = |duration: Duration| TimeDelta::from_std(duration).ok();
        let before = |age: Duration| now.checked_sub_signed(delta(age)?);
        let problem = ViewProblem {
            text: trouble.text.clone(),
            since: before(trouble.lasts).unwrap_or(now),
            next_try: trouble
                .retry_after
                .and_then(|wait| now.checked_add_signed(delta(wait)?)),
            last_answer: trouble.since_answer.and_then(before),
        };
        let (mut waiting, mut example) = (0, None);
        for view in views {
            if let Some(tasks) = self.desk.note_problem(view, problem.clone()) {
                waiting += tasks;
                example = example.or(Some(view));
            }
        }
        if let Some(view) = example {
            tracing::warn!(view.id = %view, tasks = waiting, error = problem.text, "tasks wait for data that cannot be read");
        }
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
