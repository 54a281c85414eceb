//! The database: one statement after another, by the pure rules and its own clock.

mod statement;

use std::time::Duration;

use cts_core::lease::{LeaderRow, RunLease, Service};
use cts_core::runs::{
    AfterAttempt, AttemptContext, AttemptOutcome, EnqueueDecision, QueuedApply, RunKind, TaskRuns,
    WantedApply, after_attempt, after_lost_lease, decide_enqueue, forgets_attempts,
};
use cts_core::{Digest, LeaderEpoch, TaskPhase};

pub(crate) use self::statement::{Answer, Ask, Word};
use crate::checker::{Checker, InputNumber, Life, RunNumber};
use crate::rules::Rules;

#[derive(Debug)]
struct Run {
    number: RunNumber,
    kind: RunKind,
    input: InputNumber,
    /// A caller waits for it, so it has one attempt.
    requested: bool,
    attempts: u32,
    due_at: Duration,
    lease: RunLease,
    /// When its lease was granted or renewed last.
    renewed: Duration,
}

impl Run {
    fn new(number: RunNumber, kind: RunKind, input: InputNumber, due_at: Duration) -> Self {
        Self {
            number,
            kind,
            input,
            requested: false,
            attempts: 0,
            due_at,
            lease: RunLease::default(),
            renewed: Duration::ZERO,
        }
    }
}

#[derive(Debug, Default)]
struct Task {
    queued: Option<Run>,
    /// Queued plans, the first to be made first.
    plans: Vec<Run>,
    running: Option<Run>,
    last_applied: Option<InputNumber>,
    /// The input that has had its ordinary attempts.
    tried: Option<InputNumber>,
    /// Every run there ever was.
    runs: Vec<RunNumber>,
}

/// What all processes share.
#[derive(Debug)]
pub(crate) struct Database {
    rules: Rules,
    leader: LeaderRow,
    service: Service,
    tasks: Vec<Task>,
    digests: Vec<Digest>,
    retry_runs: RunNumber,
    pub(crate) counted: Counted,
}

/// That something happens at all.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) grants: u64,
    pub(crate) reaped: u64,
    /// Of those, the ones that say nothing because no scheduler was there.
    pub(crate) excused: u64,
    pub(crate) failed_requests: u64,
    pub(crate) lost_words: u64,
    pub(crate) refused_writes: u64,
    pub(crate) takeovers: u64,
    pub(crate) last_applied: u64,
    pub(crate) plans: u64,
}

impl Database {
    pub(crate) fn new(rules: Rules, tasks: usize, digests: &[Digest]) -> Self {
        Self {
            rules,
            leader: LeaderRow::default(),
            service: Service::default(),
            tasks: (0..tasks).map(|_| Task::default()).collect(),
            digests: digests.to_vec(),
            retry_runs: 1 << 32,
            counted: Counted::default(),
        }
    }

    pub(crate) fn is_idle(&self, task: usize) -> bool {
        let task = &self.tasks[task];
        task.queued.is_none() && task.plans.is_empty() && task.running.is_none()
    }

    /// Executes one statement at `now`, database time.
    pub(crate) fn execute(
        &mut self,
        ask: Ask,
        by: Life,
        (now, life): (Duration, Duration),
        checker: &mut Checker,
    ) -> Answer {
        match ask {
            Ask::Lead(who) => {
                self.service.speak(now, life);
                let before = self.leader.epoch;
                let led = self.leader.acquire(&who, now, life);
                self.counted.takeovers += u64::from(self.leader.epoch != before);
                led.map_or(Answer::Refused, Answer::Leads)
            }
            Ask::Raise(epoch) => {
                let raised = self.leader.raise(epoch, now);
                raised.map_or(Answer::Refused, Answer::Leads)
            }
            Ask::Resign(epoch) => {
                let resigned = self.leader.resign(epoch);
                resigned.map_or(Answer::Refused, |()| Answer::Done)
            }
            Ask::Enqueue {
                epoch,
                task,
                input,
                run,
                requested,
            } => {
                if !self.admits(epoch, now) {
                    return Answer::Refused;
                }
                checker.leader_write(epoch, by);
                self.enqueue(task, (input, run), requested, now);
                Answer::Done
            }
            Ask::Plan {
                epoch,
                task,
                input,
                run,
            } => {
                if !self.admits(epoch, now) {
                    return Answer::Refused;
                }
                checker.leader_write(epoch, by);
                let task = &mut self.tasks[task];
                if !task.runs.contains(&run) {
                    task.runs.push(run);
                    task.plans.push(Run::new(run, RunKind::Plan, input, now));
                }
                Answer::Done
            }
            Ask::Reap(epoch, until) => {
                if !self.admits(epoch, now) {
                    return Answer::Refused;
                }
                checker.leader_write(epoch, by);
                self.reap(until.min(now), now, checker);
                Answer::Done
            }
            Ask::Grant => Answer::Granted(self.grant(now, life, checker)),
            Ask::Renew(word) => self.renew(word, now, life, checker),
            Ask::Complete(word, outcome) => self.complete(word, &outcome, now, checker),
        }
    }

    fn admits(&mut self, epoch: LeaderEpoch, now: Duration) -> bool {
        let admits = self.rules == Rules::LeaderEpochUnchecked || self.leader.admits(epoch, now);
        self.counted.refused_writes += u64::from(!admits);
        admits
    }

    fn enqueue(
        &mut self,
        task: usize,
        (input, run): (InputNumber, RunNumber),
        requested: bool,
        now: Duration,
    ) {
        let digest = |input: InputNumber| self.digests[usize::from(input)];
        let task = &mut self.tasks[task];
        if task.runs.contains(&run) {
            return;
        }
        let runs = TaskRuns {
            queued: task.queued.as_ref().map(|run| QueuedApply {
                input: digest(run.input),
                no_retry: run.requested,
            }),
            running: (task.running.as_ref())
                .filter(|run| run.kind == RunKind::Apply)
                .map(|run| digest(run.input)),
            last_applied: task.last_applied.map(digest),
        };
        let wanted = WantedApply {
            input: digest(input),
            skip_unchanged: !requested,
            requested,
        };
        let decision = decide_enqueue(runs, wanted);
        if forgets_attempts(task.tried.map(digest), runs, wanted, decision) {
            task.tried = None;
        }
        match decision {
            EnqueueDecision::Enqueue | EnqueueDecision::Supersede => {
                let place = task.queued.as_ref().map_or(now, |queued| queued.due_at);
                task.runs.push(run);
                task.queued = Some(Run {
                    requested,
                    ..Run::new(run, RunKind::Apply, input, place.min(now))
                });
            }
            EnqueueDecision::Replace => {
                if let Some(queued) = &mut task.queued {
                    queued.input = input;
                    queued.requested = false;
                    queued.attempts = 0;
                    queued.due_at = queued.due_at.min(now);
                }
            }
            EnqueueDecision::Skip {
                cancel_queued: true,
            } => task.queued = None,
            EnqueueDecision::Keep | EnqueueDecision::Skip { .. } => {}
        }
    }

    fn reap(&mut self, until: Duration, now: Duration, checker: &mut Checker) {
        let until = match self.rules {
            Rules::ReapsEarly => now + Duration::from_secs(2),
            _ => until,
        };
        for number in 0..self.tasks.len() {
            let Some(running) = &mut self.tasks[number].running else {
                continue;
            };
            if !running.lease.reap(until) {
                continue;
            }
            self.counted.reaped += 1;
            let renewable = self.service.covers(running.renewed);
            self.counted.excused += u64::from(!renewable);
            let kind = running.kind;
            checker.lease_over(number, kind, None);
            if let Some(context) = self.context(number) {
                self.end(number, after_lost_lease(renewable, context), now);
            }
        }
    }

    fn context(&self, task: usize) -> Option<AttemptContext> {
        let task = &self.tasks[task];
        let run = task.running.as_ref()?;
        Some(AttemptContext {
            kind: run.kind,
            phase: TaskPhase::Ready,
            enabled: true,
            no_retry: run.requested,
            tried: task.tried == Some(run.input),
            attempts: run.attempts,
            newer_waits: task.queued.is_some(),
            // Always the first failure, so that the longest wait stays a minute.
            earlier_failures: 0,
            retry_failed: true,
            jitter: 0.0,
        })
    }

    fn grant(
        &mut self,
        now: Duration,
        life: Duration,
        checker: &mut Checker,
    ) -> Option<(Word, InputNumber)> {
        let due = |task: &Task| {
            let free = task.running.is_none();
            let waiting = task.queued.iter().chain(task.plans.first());
            let due = waiting.filter(|run| free && run.due_at <= now);
            due.map(|run| (run.due_at, run.kind)).min()
        };
        let (_, kind, number) = (self.tasks.iter().enumerate())
            .filter_map(|(number, task)| due(task).map(|(due, kind)| (due, kind, number)))
            .min()?;
        let task = &mut self.tasks[number];
        let mut run = match kind {
            RunKind::Apply => task.queued.take()?,
            RunKind::Plan | RunKind::Check => task.plans.remove(0),
        };
        let epoch = (run.lease.grant(now, life)).expect("a queued run is not leased");
        run.attempts += 1;
        run.renewed = now;
        let granted = Word {
            task: number,
            run: run.number,
            kind,
            epoch,
        };
        let input = run.input;
        task.running = Some(run);
        if kind == RunKind::Apply {
            task.last_applied = None;
        }
        checker.granted(granted);
        self.counted.grants += 1;
        Some((granted, input))
    }

    fn renew(
        &mut self,
        word: Word,
        now: Duration,
        life: Duration,
        checker: &mut Checker,
    ) -> Answer {
        let Some(run) = self.tasks[word.task].leased(word) else {
            self.counted.lost_words += 1;
            return Answer::Lost(word);
        };
        let epoch = match self.rules {
            Rules::RunEpochUnchecked => run.lease.epoch,
            _ => word.epoch,
        };
        if run.lease.renew(epoch, now, life).is_err() {
            self.counted.lost_words += 1;
            return Answer::Lost(word);
        }
        run.renewed = now;
        if self.rules == Rules::RenewalMayShorten {
            run.lease.expires_at = Some(now + life);
        }
        checker.word(word.task, word.run, word.epoch);
        Answer::Renewed(word)
    }

    fn complete(
        &mut self,
        word: Word,
        outcome: &AttemptOutcome,
        now: Duration,
        checker: &mut Checker,
    ) -> Answer {
        let task = &mut self.tasks[word.task];
        let Some(run) = task.leased(word) else {
            self.counted.lost_words += 1;
            return Answer::Lost(word);
        };
        let epoch = match self.rules {
            Rules::RunEpochUnchecked => run.lease.epoch,
            _ => word.epoch,
        };
        if run.lease.complete(epoch).is_err() {
            self.counted.lost_words += 1;
            return Answer::Lost(word);
        }
        checker.word(word.task, word.run, word.epoch);
        let (input, kind) = (run.input, run.kind);
        let Some(context) = self.context(word.task) else {
            return Answer::Lost(word);
        };
        let after = after_attempt(outcome, context);
        let last_applied = (after == AfterAttempt::Succeed).then_some(input);
        checker.lease_over(word.task, kind, last_applied);
        if after == (AfterAttempt::End { succeeded: true }) && self.rules == Rules::PlansApply {
            self.tasks[word.task].last_applied = Some(input);
            checker.lease_over(word.task, RunKind::Apply, Some(input));
        }
        self.end(word.task, after, now);
        Answer::Completed(word)
    }

    /// What follows an attempt of the running run.
    fn end(&mut self, task: usize, after: AfterAttempt, now: Duration) {
        let Some(context) = self.context(task) else {
            return;
        };
        let task = &mut self.tasks[task];
        let Some(input) = task.running.as_ref().map(|run| run.input) else {
            return;
        };
        match after {
            AfterAttempt::Succeed => {
                self.counted.last_applied += 1;
                task.running = None;
                (task.last_applied, task.tried) = (Some(input), Some(input));
            }
            AfterAttempt::Retry(wait) => task.put_back(now + wait, 0),
            AfterAttempt::Requeue => task.put_back(now, 1),
            AfterAttempt::Cancel => task.running = None,
            AfterAttempt::End { succeeded } => {
                self.counted.plans += u64::from(succeeded);
                task.running = None;
            }
            AfterAttempt::GiveUp { retry_after } => {
                self.counted.failed_requests += u64::from(context.no_retry);
                if context.ends_ordinary_attempts() {
                    task.tried = Some(input);
                }
                task.running = None;
                let swallows = context.no_retry && self.rules == Rules::RequestsSwallow;
                if let Some(wait) = retry_after.filter(|_| !swallows) {
                    self.retry_runs += 1;
                    task.runs.push(self.retry_runs);
                    let retry = Run::new(self.retry_runs, RunKind::Apply, input, now + wait);
                    task.queued = Some(retry);
                }
            }
        }
    }
}

impl Task {
    fn leased(&mut self, word: Word) -> Option<&mut Run> {
        self.running.as_mut().filter(|run| run.number == word.run)
    }

    /// The running run goes back to the queue, or ends because a newer one waits there to be applied.
    fn put_back(&mut self, due_at: Duration, uncounted: u32) {
        let Some(mut run) = self.running.take() else {
            return;
        };
        run.attempts -= uncounted;
        run.due_at = due_at;
        match run.kind {
            RunKind::Plan | RunKind::Check => self.plans.push(run),
            RunKind::Apply if self.queued.is_none() => self.queued = Some(run),
            RunKind::Apply => {}
        }
    }
}
