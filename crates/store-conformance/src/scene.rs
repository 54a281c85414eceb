//! Steps of behaviours: short verbs over a store with some tasks.

mod calls;
mod kept_facts;
mod tasks;
mod vocabulary;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cts_core::runs::{AttemptOutcome, EnqueueDecision, RunKind};
use cts_core::{ArchiveId, EventId, LeaderEpoch, RunId, TaskSpec};
use uuid::Uuid;

pub(super) use self::kept_facts::KeptFacts;
pub(super) use self::vocabulary::{
    GROUP, LEASE, MICROSECOND, all_runs, capabilities, destroyed, disabled, grouped, guarded,
    in_group, incomplete, life, line, noise, other, plan, seconds, unretried, withdrawn,
};
pub use self::vocabulary::{
    bytes_of, claim, completion_of, enqueue_request, input, input_of, member, spec, stored_input,
    task, worker, worker_record,
};
use super::Fixture;
use cts_store::{
    Claim, Completed, Completion, EnqueueRequest, Enqueued, ExpiredLeases, Leadership, Lease,
    Member, PendingDeletions, QueueDepth, Requeued, RunRecord, Store, TaskState,
};

/// Time to live of the leadership of a scene: longer than any behaviour takes.
const LEADERSHIP: Duration = Duration::from_hours(10 * 365 * 24);

/// A store in a test with one replica that leads it, and a source of ids.
#[derive(Debug)]
pub struct Scene<F> {
    fixture: F,
    ids: AtomicU64,
    leader: Mutex<Option<LeaderEpoch>>,
    /// Brought up to date whenever a state is read, in any behaviour.
    kept: tokio::sync::Mutex<KeptFacts>,
}

impl<F: Fixture> Scene<F> {
    /// A fresh store with enabled tasks of these names.
    pub async fn new(names: &[&str]) -> Self {
        let specs: Vec<_> = names.iter().map(|name| spec(name)).collect();
        Self::configured(&specs).await
    }

    /// A fresh store with these tasks.
    pub async fn configured(specs: &[TaskSpec]) -> Self {
        let scene = Self::unled().await;
        scene.lead().await;
        scene.configure(specs).await;
        scene
    }

    /// A fresh store without a leader.
    pub async fn unled() -> Self {
        Self {
            fixture: F::new().await,
            ids: AtomicU64::new(1),
            leader: Mutex::new(None),
            kept: tokio::sync::Mutex::default(),
        }
    }

    /// Makes the scene's own replica lead, for longer than any behaviour takes.
    pub async fn lead(&self) {
        let leadership = self.lead_as("leader", None, LEADERSHIP).await;
        assert!(leadership.mine, "{leadership:?}");
        *self.leader.lock().expect("no holder panics") = Some(leadership.epoch);
    }

    /// Calls for the leadership in the name of a replica.
    pub(super) async fn lead_as(
        &self,
        id: &str,
        epoch: Option<LeaderEpoch>,
        time_to_live: Duration,
    ) -> Leadership {
        self.lead_in_life(&member(id), epoch, time_to_live).await
    }

    /// Calls for the leadership in the name of one life of a replica.
    pub(super) async fn lead_in_life(
        &self,
        member: &Member,
        epoch: Option<LeaderEpoch>,
        time_to_live: Duration,
    ) -> Leadership {
        let leadership = self.store().lead(member, epoch, time_to_live).await;
        leadership.expect("leadership can be asked for")
    }

    /// The epoch with which the scene's own replica leads.
    pub fn leader(&self) -> LeaderEpoch {
        let leader = *self.leader.lock().expect("no holder panics");
        leader.expect("the scene leads")
    }

    /// The fixture.
    pub fn fixture(&self) -> &F {
        &self.fixture
    }

    /// The store.
    pub fn store(&self) -> Arc<dyn Store> {
        self.fixture.store()
    }

    /// Closes the store and opens it again.
    pub async fn restart(&mut self) {
        self.fixture.restart().await;
    }

    /// Moves the time.
    pub fn advance(&self, by: Duration) {
        self.fixture.advance(by);
    }

    /// Sets the time back.
    pub fn set_back(&self, by: Duration) {
        self.fixture.set_back(by);
    }

    /// An id that was not used before; later ones are greater.
    pub fn run_id(&self) -> RunId {
        RunId::from_uuid(self.uuid())
    }

    pub(super) fn event_id(&self) -> EventId {
        EventId::from_uuid(self.uuid())
    }

    pub(super) fn archive_id(&self) -> ArchiveId {
        ArchiveId::from_uuid(self.uuid())
    }

    fn uuid(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.ids.fetch_add(1, Ordering::Relaxed)) << 40)
    }

    /// Makes these the tasks of the configuration.
    pub async fn configure(&self, specs: &[TaskSpec]) -> PendingDeletions {
        let replaced = self
            .store()
            .replace_config_tasks(self.leader(), specs)
            .await;
        replaced.expect("tasks can be replaced")
    }

    /// A request to apply an input, under a new id.
    pub fn request(&self, name: &str, text: &str) -> EnqueueRequest {
        enqueue_request(name, text, self.run_id())
    }

    /// Requests one attempt at an input, whatever is applied.
    pub(super) fn plan_request(&self, name: &str, text: &str) -> EnqueueRequest {
        EnqueueRequest {
            kind: RunKind::Plan,
            ..self.request(name, text)
        }
    }

    /// Enqueues a plan, which must be queued.
    pub(super) async fn queue_plan(&self, name: &str, text: &str) -> RunId {
        self.queue_new(self.plan_request(name, text)).await
    }

    /// Queues the run of a request, which must be a new one.
    pub(super) async fn queue_new(&self, request: EnqueueRequest) -> RunId {
        let run = request.run;
        let enqueued = self.request_all(vec![request]).await.remove(0);
        assert_eq!(enqueued.decision, Some(EnqueueDecision::Enqueue));
        assert_eq!(enqueued.queued, Some(run));
        run
    }

    pub(super) async fn request_all(&self, requests: Vec<EnqueueRequest>) -> Vec<Enqueued> {
        let enqueued = self.store().enqueue(self.leader(), requests).await;
        enqueued.expect("inputs can be enqueued")
    }

    /// Enqueues an input with this text for one task.
    pub async fn enqueue(&self, name: &str, text: &str) -> Enqueued {
        let mut enqueued = self.request_all(vec![self.request(name, text)]).await;
        enqueued.pop().expect("one request has one answer")
    }

    /// Enqueues an input because of a tick of the schedule.
    pub(super) async fn tick(&self, name: &str, text: &str) -> Enqueued {
        let request = EnqueueRequest {
            tick: Some(self.event_id()),
            ..self.request(name, text)
        };
        let mut enqueued = self.request_all(vec![request]).await;
        enqueued.pop().expect("one request has one answer")
    }

    /// Queues a run, which must be a new one.
    pub async fn queue(&self, name: &str, text: &str) -> RunId {
        let enqueued = self.enqueue(name, text).await;
        assert_eq!(enqueued.decision, Some(EnqueueDecision::Enqueue));
        enqueued.queued.expect("an enqueued run is queued")
    }

    /// Leases a run, if one is due.
    pub async fn acquire(&self) -> Option<Lease> {
        self.acquire_as(&claim()).await
    }

    pub(super) async fn acquire_as(&self, claim: &Claim) -> Option<Lease> {
        let lease = self.store().acquire(claim).await;
        lease.expect("runs can be leased")
    }

    /// Leases a run; there must be one.
    pub async fn lease(&self) -> Lease {
        self.acquire().await.expect("a run is due")
    }

    /// Queues a run and leases it; nothing else may be due.
    pub async fn leased(&self, name: &str, text: &str) -> Lease {
        let run = self.queue(name, text).await;
        let lease = self.lease().await;
        assert_eq!(lease.run, run);
        lease
    }

    /// Takes back the leases that have expired.
    pub async fn reap(&self) -> Vec<Requeued> {
        self.reap_some(16).await
    }

    /// Takes back at most this many leases, without jitter.
    pub(super) async fn reap_some(&self, most: usize) -> Vec<Requeued> {
        let each = self.expired_leases(most);
        let reaped = self.store().reap(self.leader(), &each).await;
        reaped.expect("leases can be taken back")
    }

    /// Returns ids and jitter for taking back up to `most` leases.
    pub fn expired_leases(&self, most: usize) -> Vec<ExpiredLeases> {
        let each = (0..most).map(|_| ExpiredLeases {
            event: self.event_id(),
            retry_run: self.run_id(),
            jitter: 0.0,
        });
        each.collect()
    }

    /// Takes back every lease; afterwards the scene leads again.
    pub async fn release_all(&self) -> Vec<Requeued> {
        let released = self.store().release_all().await;
        self.lead().await;
        released.expect("leases can be taken back")
    }

    /// Makes retries of failed runs due, and returns the names of their tasks.
    pub(crate) async fn retry_failed_now(&self) -> Vec<String> {
        let names = self.store().retry_failed_now(seconds(600)).await;
        let names = names.expect("failed runs can be made due").into_iter();
        names.map(|name| name.as_str().to_owned()).collect()
    }

    /// Reports the end of an attempt, without jitter and log lines.
    pub fn completion(&self, lease: &Lease, outcome: AttemptOutcome) -> Completion {
        completion_of(lease, outcome, self.event_id(), self.run_id())
    }

    pub(super) async fn complete(&self, completion: Completion) -> Completed {
        let completed = self.store().complete(completion).await;
        completed.expect("a live lease can be completed")
    }

    /// Ends an attempt with success.
    pub async fn applied(&self, lease: &Lease) -> Completed {
        self.complete(self.completion(lease, AttemptOutcome::Applied))
            .await
    }

    /// Ends an attempt at a plan with this text.
    pub(super) async fn planned(&self, lease: &Lease, text: &str) -> Completed {
        let outcome = AttemptOutcome::Planned(plan(text));
        self.complete(self.completion(lease, outcome)).await
    }

    /// Ends an attempt with an error.
    pub async fn failed(&self, lease: &Lease, error: &str) -> Completed {
        let outcome = AttemptOutcome::Failed(error.to_owned());
        self.complete(self.completion(lease, outcome)).await
    }

    /// Ends an attempt because the worker stops.
    pub async fn interrupted(&self, lease: &Lease) -> Completed {
        self.complete(self.completion(lease, AttemptOutcome::Interrupted))
            .await
    }

    /// Queues, leases and applies one input.
    pub async fn apply(&self, name: &str, text: &str) -> RunId {
        let lease = self.leased(name, text).await;
        self.applied(&lease).await;
        lease.run
    }

    /// Fails the run of this lease and its further attempts, moving the time from one to the next;
    /// returns what followed the last.
    pub async fn fail_thrice(&self, mut lease: Lease) -> Completed {
        loop {
            let attempt = lease.attempt;
            let completed = self.failed(&lease, &format!("error {attempt}")).await;
            if attempt == 3 {
                return completed;
            }
            self.advance(completed.next_due.expect("there is another attempt"));
            lease = self.lease().await;
        }
    }

    pub(super) async fn find_run(&self, run: RunId) -> Option<RunRecord> {
        self.store().run(run).await.expect("runs can be read")
    }

    /// One run, which must be there.
    pub async fn run(&self, run: RunId) -> RunRecord {
        self.find_run(run).await.expect("the run is there")
    }

    /// The state of one task, which must exist.
    pub async fn state(&self, name: &str) -> TaskState {
        self.follow_facts().await;
        let state = self.store().task_state(&task(name)).await;
        let state = state.expect("states can be read");
        state.expect("the task is there")
    }

    /// Compares the facts that are kept by what has changed with those of the store.
    pub(super) async fn follow_facts(&self) {
        self.kept.lock().await.follow(&*self.store()).await;
    }

    /// Reads all facts again, after a prune of what no change tells.
    pub(super) async fn forget_facts(&self) {
        self.kept.lock().await.forget();
    }

    pub(super) async fn queue_depth(&self) -> QueueDepth {
        let depth = self.store().queue_depth().await;
        depth.expect("the depth of the queue can be read")
    }

    pub(super) async fn next_due(&self) -> Option<Duration> {
        let due = self.store().next_due().await;
        due.expect("the next due time can be read")
    }
}
