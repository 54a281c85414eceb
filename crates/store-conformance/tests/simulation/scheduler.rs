//! A scheduler: it answers workers at any time, and writes for all while it leads.

mod leader_writes;

use std::time::Duration;

use cts_core::lease::LeaseDeadlines;
use cts_core::runs::AttemptOutcome;
use cts_core::{LeaderEpoch, RunId};

use crate::checker::{InputNumber, Life};
use crate::database::{Answer, Ask, Word};
use crate::engine::MILLISECOND;
use crate::process::Role;
use crate::rules::Plan;
use crate::simulation::{Event, ProcessInput, Simulation};
use crate::worker::{Reply, WorkerInput};

/// How long a scheduler waits for a run before it answers a worker without one.
const LONG_POLL: Duration = Duration::from_secs(4);
/// How long it waits for the answer to a statement.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub(crate) enum SchedulerInput {
    Tick,
    /// A watcher shows the inputs of all tasks.
    Shown(Vec<InputNumber>),
    Called(Caller, Request),
    /// Looks for a run again, for a call that still waits.
    AcquireAgain(Caller),
    /// The database's answer.
    Answered(Context, Answer),
}

/// Request of a worker.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    Acquire,
    Renew(Word),
    Complete(Word, AttemptOutcome),
}

/// Caller that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) worker: Life,
    pub(crate) slot: usize,
    pub(crate) request: u64,
    /// When it asked, by its own clock.
    pub(crate) asked: Duration,
    /// When the request arrived, by the scheduler's clock.
    pub(crate) arrived: Duration,
    /// How long the scheduler had waited when it asked the database.
    pub(crate) waited: Duration,
}

/// Where a statement came from.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) by: Life,
    pub(crate) purpose: Purpose,
}

#[derive(Debug, Clone)]
pub(crate) enum Purpose {
    /// To lead, asked at this time.
    Leading(Duration),
    /// A write of this epoch, perhaps of a new run.
    Writing(Option<RunId>, LeaderEpoch),
    Calling(Caller),
}

#[derive(Debug)]
pub(crate) struct Scheduler {
    leads: Option<(LeaderEpoch, LeaseDeadlines)>,
    /// When it may ask for leadership again.
    ask_again_at: Duration,
    /// Input that the watcher has shown of each task, and whether it must still be stored.
    planner: Vec<(Option<InputNumber>, bool)>,
    /// The write that it waits for: run, task, input, when it was sent.
    writes: Option<(RunId, usize, InputNumber, Duration)>,
    /// Epoch in which a write has got no answer: nothing more is written in it.
    doubts: Option<LeaderEpoch>,
    ticks: u64,
}

impl Scheduler {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            leads: None,
            ask_again_at: Duration::ZERO,
            planner: vec![(None, false); plan.tasks],
            writes: None,
            doubts: None,
            ticks: 0,
        }
    }

    pub(crate) fn epoch(&self) -> Option<LeaderEpoch> {
        self.leads.map(|(epoch, _)| epoch)
    }

    fn show(&mut self, inputs: &[InputNumber]) {
        for ((at_hand, dirty), input) in self.planner.iter_mut().zip(inputs) {
            if *at_hand != Some(*input) {
                *at_hand = Some(*input);
                *dirty = true;
            }
        }
    }

    fn led(&mut self, epoch: LeaderEpoch, asked: Duration, session: Duration, now: Duration) {
        let deadlines = match self.leads {
            Some((before, _)) if epoch < before => return,
            Some((_, deadlines)) => deadlines.renewed(asked, session),
            None => {
                // There may have been no leader for a while: everything is compared.
                for (_, dirty) in &mut self.planner {
                    *dirty = true;
                }
                LeaseDeadlines::leadership(asked, session)
            }
        };
        self.leads = deadlines.is_held(now).then_some((epoch, deadlines));
    }

    fn refused(&mut self, epoch: LeaderEpoch) {
        if self.epoch() == Some(epoch) {
            self.leads = None;
        }
    }

    /// The outcome of the write on its way stays unknown.
    fn doubt(&mut self) {
        if self.writes.take().is_some() {
            self.doubts = self.epoch();
        }
    }

    fn stored(&mut self, run: RunId) {
        if let Some((waiting, task, input, _)) = self.writes
            && waiting == run
        {
            self.writes = None;
            let (at_hand, dirty) = &mut self.planner[task];
            *dirty = *at_hand != Some(input);
        }
    }
}

impl Simulation {
    fn scheduler(&mut self, process: usize) -> &mut Scheduler {
        match &mut self.processes[process].role {
            Role::Scheduler(scheduler) => scheduler,
            Role::Worker(_) => unreachable!("process {process} is a worker"),
        }
    }

    pub(crate) fn scheduler_input(&mut self, process: usize, input: SchedulerInput) {
        match input {
            SchedulerInput::Tick => self.tick(process),
            SchedulerInput::Shown(inputs) => self.scheduler(process).show(&inputs),
            SchedulerInput::Called(caller, request) => {
                let arrived = self.reading(process);
                let caller = Caller { arrived, ..caller };
                match request {
                    Request::Acquire => self.look(process, caller),
                    Request::Renew(word) => {
                        let life = self.plan.lives[process];
                        self.call(process, Ask::Renew(word, life), caller);
                    }
                    Request::Complete(word, outcome) => {
                        self.call(process, Ask::Complete(word, outcome), caller);
                    }
                }
            }
            SchedulerInput::AcquireAgain(caller) => self.look(process, caller),
            SchedulerInput::Answered(context, answer) => self.answered(process, context, answer),
        }
    }

    fn look(&mut self, process: usize, caller: Caller) {
        // Taken before the statement is sent, so that the grant is not earlier.
        let waited = self.reading(process).saturating_sub(caller.arrived);
        let ask = Ask::Grant(caller.worker, self.plan.lives[process]);
        self.call(process, ask, Caller { waited, ..caller });
    }

    fn call(&mut self, process: usize, ask: Ask, caller: Caller) {
        self.state(process, ask, Purpose::Calling(caller));
    }

    /// Sends a statement to the database.
    fn state(&mut self, process: usize, ask: Ask, purpose: Purpose) {
        let by = (process, self.processes[process].life);
        if let Some(at) = self.passage(process, process) {
            let context = Context { by, purpose };
            self.agenda.put(at, Event::Statement { ask, context });
        }
    }

    fn answered(&mut self, process: usize, context: Context, answer: Answer) {
        let now = self.reading(process);
        let session = self.plan.session;
        let scheduler = self.scheduler(process);
        match (context.purpose, answer) {
            (Purpose::Leading(asked), Answer::Leads(epoch)) => {
                scheduler.led(epoch, asked, session, now);
            }
            (Purpose::Writing(_, epoch), Answer::Refused) => scheduler.refused(epoch),
            (Purpose::Writing(Some(run), _), _) => scheduler.stored(run),
            (Purpose::Calling(caller), answer) => self.reply(process, caller, answer),
            (Purpose::Writing(None, _) | Purpose::Leading(_), _) => {}
        }
    }

    fn reply(&mut self, process: usize, caller: Caller, answer: Answer) {
        let life = self.plan.lives[process];
        let reply = match answer {
            Answer::Granted(Some((word, input))) => Reply::Granted { word, input, life },
            Answer::Granted(None) => {
                let waited = self.reading(process).saturating_sub(caller.arrived);
                if waited < LONG_POLL {
                    let at = self.now + self.random.between(200, 800) * MILLISECOND;
                    let input = ProcessInput::Scheduler(SchedulerInput::AcquireAgain(caller));
                    return self.later(process, at, input);
                }
                Reply::Nothing
            }
            Answer::Renewed(word) => Reply::Renewed { word, life },
            Answer::Completed(word) => Reply::Completed { word },
            Answer::Lost(word) => Reply::Lost { word },
            Answer::Done | Answer::Leads(_) | Answer::Refused => return,
        };
        let input = ProcessInput::Worker(WorkerInput::Replied(caller, reply));
        self.send(process, caller.worker, input);
    }

    /// How long a worker waits for an answer to a request for work.
    pub(crate) fn acquire_timeout() -> Duration {
        LONG_POLL + STATEMENT_TIMEOUT
    }
}
