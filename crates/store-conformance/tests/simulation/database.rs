//! The database: the model that the stores are compared with. Executes one statement after another by its own
//! clock, with the consequences of a broken rule.

mod statement;

use std::time::Duration;

use cts_core::runs::{AttemptOutcome, RunKind, RunKinds, RunStatus};
use cts_core::state::StateRecord;
use cts_core::{
    Digest, EventId, FrozenInput, LeaderEpoch, LeaseEpoch, RunId, TaskName, TaskTimeouts, WorkerId,
};
use cts_store::{Claim, Completion, EnqueueRequest, ExpiredLeases, Lease, TaskChange};
use cts_store_conformance::model::Model;
use cts_store_conformance::{claim, enqueue_request, spec, task};
use uuid::Uuid;

pub(crate) use self::statement::{Answer, Ask, Word};
use crate::checker::{Checker, InputNumber, Life};
use crate::rules::Rules;

/// State shared by all processes.
#[derive(Debug)]
pub(crate) struct Database {
    rules: Rules,
    model: Model,
    tasks: Vec<TaskName>,
    inputs: Vec<FrozenInput>,
    session: Duration,
    claim: Claim,
    ids: u128,
    pub(crate) counted: Counted,
}

/// That something happens at all.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) grants: u64,
    pub(crate) reaped: u64,
    /// Lost leases that do not count, because no scheduler served.
    pub(crate) excused: u64,
    pub(crate) failed_requests: u64,
    pub(crate) lost_words: u64,
    pub(crate) refused_writes: u64,
    pub(crate) takeovers: u64,
    pub(crate) last_applied: u64,
    pub(crate) plans: u64,
}

impl Database {
    pub(crate) fn new(
        rules: Rules,
        tasks: usize,
        inputs: &[FrozenInput],
        session: Duration,
    ) -> Self {
        let tasks: Vec<_> = (0..tasks)
            .map(|number| task(&format!("task-{number}")))
            .collect();
        let mut model = Model::default();
        let specs: Vec<_> = tasks.iter().map(|name| spec(name.as_str())).collect();
        model.configure(&specs);
        Self {
            rules,
            model,
            tasks,
            inputs: inputs.to_vec(),
            session,
            claim: Claim {
                kinds: RunKinds::ALL,
                ..claim()
            },
            ids: 1 << 64,
            counted: Counted::default(),
        }
    }

    pub(crate) fn is_idle(&self, task: usize) -> bool {
        let mut runs = self.model.runs.values();
        !runs.any(|run| run.task == self.tasks[task] && !run.status.is_end())
    }

    /// Executes one statement at `now`, database time.
    pub(crate) fn execute(
        &mut self,
        ask: Ask,
        by: Life,
        now: Duration,
        checker: &mut Checker,
    ) -> Answer {
        self.model.now = now;
        match ask {
            Ask::Lead(member, known) => {
                let leadership = self.model.lead(&member, known, self.session);
                let taken = leadership.mine && !leadership.resumed;
                self.counted.takeovers += u64::from(taken);
                if leadership.mine {
                    Answer::Leads(leadership.epoch)
                } else {
                    Answer::Refused
                }
            }
            Ask::Resign(member) => {
                self.model.resign(&member);
                Answer::Done
            }
            Ask::Enqueue {
                epoch,
                task,
                input,
                run,
                kind,
                requested,
            } => {
                if !self.admits(epoch) {
                    return Answer::Refused;
                }
                checker.leader_write(epoch, by);
                self.enqueue(task, input, (run, kind), requested);
                Answer::Done
            }
            Ask::Reap(epoch) => {
                if !self.admits(epoch) {
                    return Answer::Refused;
                }
                checker.leader_write(epoch, by);
                self.reap(now, checker);
                Answer::Done
            }
            Ask::Grant(worker, life) => Answer::Granted(self.grant(worker, life, checker)),
            Ask::Renew(word, life) => self.renew(word, life, checker),
            Ask::Complete(word, outcome) => self.complete(word, outcome, checker),
        }
    }

    fn admits(&mut self, epoch: LeaderEpoch) -> bool {
        let admits = self.rules == Rules::LeaderEpochUnchecked || self.model.leads(epoch);
        self.counted.refused_writes += u64::from(!admits);
        admits
    }

    fn enqueue(
        &mut self,
        task: usize,
        input: InputNumber,
        (run, kind): (RunId, RunKind),
        requested: bool,
    ) {
        let name = &self.tasks[task];
        if requested {
            let change = TaskChange {
                request: Some((run, kind)),
                ..TaskChange::default()
            };
            let changed = self.model.change(name, &change);
            changed.expect("a run of a task that is there can be requested");
        }
        let request = EnqueueRequest {
            input: self.inputs[usize::from(input)].clone(),
            kind,
            ..enqueue_request(name.as_str(), "", run)
        };
        self.model.enqueue(&request);
        self.forget_failures(task);
    }

    /// Every failure is the first one, so that the longest wait stays a minute.
    fn forget_failures(&mut self, task: usize) {
        if let Some(task) = self.model.tasks.get_mut(&self.tasks[task]) {
            task.failures = 0;
        }
    }

    fn reap(&mut self, now: Duration, checker: &mut Checker) {
        if self.rules == Rules::ReapsEarly {
            self.model.now = now + Duration::from_secs(2);
        }
        let attempts = |model: &Model, run: RunId| model.runs.get(&run).map(|run| run.attempts);
        let running = self.model.runs.iter();
        let running = running.filter(|(_, run)| run.status == RunStatus::Running);
        let before: Vec<_> = running.map(|(id, run)| (*id, run.attempts)).collect();
        let each: Vec<_> = before.iter().map(|_| self.expired_leases()).collect();
        for lost in self.model.reap(&each) {
            let counted =
                before.contains(&(lost.run, attempts(&self.model, lost.run).unwrap_or(0)));
            self.counted.reaped += 1;
            self.counted.excused += u64::from(!counted);
            let task = self.number_of(&lost.task);
            checker.lease_over(task, lost.kind, None);
            self.forget_failures(task);
        }
        self.model.now = now;
    }

    fn grant(
        &mut self,
        worker: Life,
        life: Duration,
        checker: &mut Checker,
    ) -> Option<(Word, InputNumber)> {
        let lease = self.model.acquire(&Claim {
            worker: worker_id(worker),
            time_to_live: life,
            ..self.claim.clone()
        })?;
        let word = Word {
            task: self.number_of(&lease.task),
            run: lease.run,
            kind: lease.kind,
            holder: worker,
            epoch: lease.epoch,
        };
        checker.granted(word);
        self.counted.grants += 1;
        Some((word, self.input_number(lease.input)))
    }

    fn renew(&mut self, word: Word, life: Duration, checker: &mut Checker) -> Answer {
        let lease = self.lease(word);
        if !self.model.renew(&lease, life) {
            self.counted.lost_words += 1;
            return Answer::Lost(word);
        }
        if self.rules == Rules::RenewalMayShorten
            && let Some(run) = self.model.runs.get_mut(&word.run)
        {
            run.expires = self.model.now + life;
        }
        checker.word(word.task, word.run, word.epoch);
        Answer::Renewed(word)
    }

    fn complete(&mut self, word: Word, outcome: AttemptOutcome, checker: &mut Checker) -> Answer {
        let lease = self.lease(word);
        let ids = self.expired_leases();
        let completed = self.model.complete(&Completion {
            run: word.run,
            holder: lease.holder,
            epoch: lease.epoch,
            outcome,
            is_final: false,
            early_failure: None,
            event: ids.event,
            retry_run: ids.retry_run,
            jitter: ids.jitter,
            log: Vec::new(),
            details: None,
            state: None,
        });
        let Some(completed) = completed else {
            self.counted.lost_words += 1;
            return Answer::Lost(word);
        };
        checker.word(word.task, word.run, word.epoch);
        let name = &self.tasks[word.task];
        let run = &self.model.runs[&word.run];
        let (input, no_retry) = (run.input, run.no_retry);
        let last_applied = self.model.tasks[name].last_applied;
        let last_applied = last_applied.map(|input| self.input_number(input));
        checker.lease_over(word.task, word.kind, last_applied);
        let failed = completed.status == RunStatus::Failed;
        match (word.kind, completed.status) {
            (RunKind::Apply, RunStatus::Succeeded) => self.counted.last_applied += 1,
            (_, RunStatus::Succeeded) => {
                self.counted.plans += 1;
                if self.rules == Rules::PlansApply {
                    self.apply_plan(word.task, input, checker);
                }
            }
            _ => {}
        }
        if failed && no_retry && word.kind.applies() {
            self.counted.failed_requests += 1;
            if self.rules == Rules::RequestsSwallow {
                self.model.runs.remove(&ids.retry_run);
            }
        }
        self.forget_failures(word.task);
        Answer::Completed(word)
    }

    fn apply_plan(&mut self, task: usize, input: Digest, checker: &mut Checker) {
        if let Some(task) = self.model.tasks.get_mut(&self.tasks[task]) {
            task.last_applied = Some(input);
        }
        checker.lease_over(task, RunKind::Apply, Some(self.input_number(input)));
    }

    /// The lease that a call names, or the existing one if nothing is checked.
    fn lease(&self, word: Word) -> Lease {
        let mut lease = Lease {
            run: word.run,
            task: self.tasks[word.task].clone(),
            kind: word.kind,
            holder: worker_id(word.holder),
            epoch: word.epoch,
            input: Digest::of(&[]),
            attempt: 0,
            timeouts: TaskTimeouts::default(),
            state: StateRecord::default(),
            delivery: None,
            trace: None,
            ends_remote_run: false,
            asks_permission: false,
            ignored: Vec::new(),
        };
        if self.rules == Rules::RunEpochUnchecked
            && let Some(run) = self.model.runs.get(&word.run)
        {
            lease.holder = WorkerId::new(&run.holder);
            lease.epoch = LeaseEpoch::new(run.epoch);
        }
        lease
    }

    fn expired_leases(&mut self) -> ExpiredLeases {
        self.ids += 2;
        ExpiredLeases {
            event: EventId::from_uuid(Uuid::from_u128(self.ids)),
            retry_run: RunId::from_uuid(Uuid::from_u128(self.ids + 1)),
            jitter: 0.0,
        }
    }

    fn number_of(&self, name: &TaskName) -> usize {
        let found = self.tasks.iter().position(|task| task == name);
        found.expect("all tasks are the simulation's")
    }

    fn input_number(&self, digest: Digest) -> InputNumber {
        let found = self.inputs.iter().position(|input| input.hash == digest);
        let found = found.and_then(|number| InputNumber::try_from(number).ok());
        found.expect("all inputs are the simulation's")
    }
}

fn worker_id((process, life): Life) -> WorkerId {
    WorkerId::new(format!("worker-{process}.{life}"))
}
