//! The part of the model about replicas and workers.

use std::time::Duration;

use cts_core::runs::{RunStatus, continues_as_change};
use cts_core::{LeaderEpoch, TaskPhase, WorkerId};

use super::Model;
use cts_store::{ExpiredLeases, Leadership, Member, Requeued};

const DAY: Duration = Duration::from_hours(24);

impl Model {
    fn leader(&self) -> Option<&Member> {
        let leader = &self.leader;
        let live = leader.holder.as_ref();
        live.filter(|_| leader.expires > self.now)
    }

    pub fn leads(&self, epoch: LeaderEpoch) -> bool {
        self.leader().is_some() && self.leader.epoch == epoch.get()
    }

    pub fn lead(
        &mut self,
        member: &Member,
        epoch: Option<LeaderEpoch>,
        time_to_live: Duration,
    ) -> Leadership {
        self.leader.service.speak(self.now, time_to_live);
        let known = self.members.get(&member.id);
        let id_in_use = known.and_then(|(incarnation, seen)| {
            let silence = self.now.saturating_sub(*seen);
            let is_free = *incarnation == member.incarnation || silence >= time_to_live;
            (!is_free).then_some(silence)
        });
        if id_in_use.is_none() {
            let seen = (member.incarnation, self.now);
            self.members.insert(member.id.clone(), seen);
        }
        let own = self.leader.incarnation == Some(member.incarnation);
        let mine = match self.leader() {
            Some(_) => own,
            None => id_in_use.is_none(),
        };
        if mine {
            let extends = self.leader().is_some() && epoch == Some(self.epoch());
            self.leader.epoch += u64::from(!extends);
            self.leader.holder = Some(member.clone());
            self.leader.incarnation = Some(member.incarnation);
            self.leader.expires = self.now + time_to_live;
        }
        let leader = self.leader();
        Leadership {
            epoch: self.epoch(),
            mine,
            leader: leader.map_or_else(String::new, |leader| leader.id.clone()),
            expires_in: leader.map_or(Duration::ZERO, |_| {
                self.leader.expires.saturating_sub(self.now)
            }),
            resumed: mine && own,
            id_in_use,
        }
    }

    fn epoch(&self) -> LeaderEpoch {
        LeaderEpoch::new(self.leader.epoch)
    }

    pub fn resign(&mut self, member: &Member) {
        let known = self.members.get(&member.id);
        if known.is_some_and(|(incarnation, _)| *incarnation == member.incarnation) {
            self.members.remove(&member.id);
        }
        if self.leader.incarnation == Some(member.incarnation) {
            self.leader.holder = None;
            self.leader.incarnation = None;
        }
    }

    /// Id, silence and leadership of the replicas.
    pub fn members(&self, within: Duration) -> Vec<(String, Duration, bool)> {
        let silences = self
            .members
            .iter()
            .map(|(id, known)| (id, known.0, self.now.saturating_sub(known.1)));
        let heard = silences.filter(|(_, _, silence)| *silence <= within);
        let leader = self.leader().map(|leader| leader.incarnation);
        heard
            .map(|(id, incarnation, silence)| (id.clone(), silence, leader == Some(incarnation)))
            .collect()
    }

    pub fn heartbeat(&mut self, worker: &WorkerId, draining: bool) -> bool {
        let now = self.now;
        let known = self.workers.entry(worker.as_str().to_owned()).or_default();
        (known.drains_itself, known.seen) = (draining, now);
        self.drains(worker)
    }

    pub fn drains(&self, worker: &WorkerId) -> bool {
        let known = self.workers.get(worker.as_str());
        known.is_some_and(|worker| worker.drains_itself || worker.drain_requested)
    }

    pub fn drain(&mut self, worker: &WorkerId) -> bool {
        let known = self.workers.get_mut(worker.as_str());
        known.map(|worker| worker.drain_requested = true).is_some()
    }

    pub fn forget(&mut self, worker: &WorkerId) {
        self.workers.remove(worker.as_str());
    }

    /// Id, silence, whether it drains, and running runs of the workers.
    pub fn workers(&self, within: Duration) -> Vec<(String, Duration, bool, u32)> {
        let workers = self.workers.iter().map(|(id, worker)| {
            let running = self
                .runs
                .values()
                .filter(|run| run.is_at_work() && run.holder == *id);
            let running = u32::try_from(running.count()).unwrap_or(u32::MAX);
            let draining = worker.drains_itself || worker.drain_requested;
            (
                id.clone(),
                self.now.saturating_sub(worker.seen),
                draining,
                running,
            )
        });
        workers
            .filter(|(_, silence, ..)| *silence <= within)
            .collect()
    }

    /// Whether a scheduler served all the time since.
    pub(super) fn was_served_since(&self, moment: Duration) -> bool {
        self.leader.service.covers(moment)
    }

    pub fn reap(&mut self, each: &[ExpiredLeases]) -> Vec<Requeued> {
        let now = self.now;
        self.members
            .retain(|_, (_, seen)| now.saturating_sub(*seen) < DAY);
        self.workers
            .retain(|_, worker| now.saturating_sub(worker.seen) < DAY);
        self.lose_expired(each)
    }

    pub fn release_all(&mut self) -> Vec<Requeued> {
        self.members.clear();
        self.workers.clear();
        self.leader.holder = None;
        self.leader.incarnation = None;
        let mut requeued = self.reclaim_all();
        for run in self.runs.values_mut() {
            if run.status != RunStatus::Queued {
                continue;
            }
            let task = self.tasks.get(&run.task).map(|task| &task.stored);
            let enabled =
                task.is_some_and(|task| task.spec.enabled && task.phase == TaskPhase::Ready);
            if continues_as_change(run.kind, run.no_retry, enabled) {
                run.no_retry = false;
            } else {
                run.status = RunStatus::Cancelled;
            }
        }
        for lost in &mut requeued {
            // A run that does not exist any more was cancelled before.
            let left = self.runs.get(&lost.run);
            lost.status = left.map_or(RunStatus::Cancelled, |run| run.status);
        }
        self.forget_waiting();
        requeued
    }
}
