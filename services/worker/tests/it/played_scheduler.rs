//! A scripted scheduler: hands out leases and keeps the reports of workers.

mod services;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cts_core::Digest;
use cts_proto::log::v1 as log;
use cts_proto::log::v1::log_service_server::LogServiceServer;
use cts_proto::run::v1 as run;
use cts_proto::run::v1::approval_service_server::ApprovalServiceServer;
use cts_proto::run::v1::complete_run_request::Outcome;
use cts_proto::run::v1::plan_service_server::PlanServiceServer;
use cts_proto::run::v1::record_state_request::Report;
use cts_proto::run::v1::run_service_server::RunServiceServer;
use cts_proto::worker::v1 as worker;
use cts_proto::worker::v1::worker_service_server::WorkerServiceServer;
use cts_rpc::admission::lease_proof;
use cts_rpc::{Endpoints, convert};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tonic::{Code, Request};

/// Longest wait of a test.
const DEADLINE: Duration = Duration::from_mins(1);

/// The time by its database, in seconds since 1970.
pub(crate) const DATABASE_SECONDS: i64 = 1_800_000_000;

/// The reason of every decision about a plan.
pub(crate) const REASON: &str = "the test decides so";

/// Behaviour of the scheduler, and the calls that it got.
#[derive(Debug, Default)]
pub(crate) struct Conduct {
    /// Life of its leases.
    pub(crate) life: Duration,
    /// Batches of log lines are never answered.
    pub(crate) holds_logs: bool,
    /// Inputs are never sent.
    pub(crate) holds_transfers: bool,
    /// Number of next calls for an input that are refused, because the lease has expired.
    pub(crate) expired_inputs: u32,
    /// The error for heartbeats.
    pub(crate) refuses_heartbeats: Option<Code>,
    /// Heartbeats that were refused.
    pub(crate) refused_heartbeats: u32,
    /// The earlier lives that each heartbeat has named, refused ones included.
    pub(crate) earlier_lives: Vec<Vec<String>>,
    /// The registrations of heartbeats.
    pub(crate) registrations: Vec<Vec<u8>>,
    /// The secret of every registration; may be empty.
    pub(crate) registration_secret: Vec<u8>,
    /// The secrets of calls for a run.
    pub(crate) acquired_with: Vec<Vec<u8>>,
    /// Calls for a run get no answer.
    pub(crate) loses_grants: bool,
    /// Calls for a run that got no answer.
    pub(crate) lost: Vec<String>,
    /// Lost calls that heartbeats have named.
    pub(crate) named: BTreeSet<String>,
    /// The timeline of the database, if the database was on a different one before.
    pub(crate) timeline: String,
    /// The start of the present leader.
    pub(crate) leader_start: String,
    /// Attempts that have arrived for a start of a leader, by the heartbeat.
    pub(crate) attempts: Vec<Vec<worker::JournalEntry>>,
    /// The error for heartbeats with attempts.
    pub(crate) refuses_attempts: Option<Code>,
    /// Parts of journals that have arrived.
    pub(crate) journal: Vec<worker::WorkerJournal>,
    /// The error for each renewal, instead of a grant.
    pub(crate) renewals: Option<Code>,
    /// The error for each report, which is then not stored.
    pub(crate) reports: Option<Code>,
    /// Renewals that were granted.
    pub(crate) renewed: u32,
    /// Reports that were not stored.
    pub(crate) refused: u32,
    /// Calls for an input.
    pub(crate) asked_for_inputs: u32,
    /// The contents of every input, by name.
    pub(crate) names: Vec<String>,
    /// Contents by name.
    pub(crate) contents: BTreeMap<String, Vec<u8>>,
    /// Contents that were fetched.
    pub(crate) fetched: Vec<String>,
    /// The order to stop every run.
    pub(crate) cancel: run::CancelOrder,
    /// Calls for the order fail, so that renewals alone bring it.
    pub(crate) order_calls_fail: bool,
    /// Details of the last attempt.
    pub(crate) details: Option<run::RunDetails>,
    /// The state of the task as the last attempt has reported it.
    pub(crate) state: Option<run::TerraformState>,
    /// The known state of the task; `None`: nothing can be recorded.
    pub(crate) known: Option<run::KnownState>,
    /// Reports about the state of the task.
    pub(crate) recorded: Vec<Report>,
    /// The secret of every lease; may be empty.
    pub(crate) secret: Vec<u8>,
    /// The key for fingerprints of plans in every lease; empty if no plans are kept.
    pub(crate) plan_key: Vec<u8>,
    /// The ignored attributes in every lease.
    pub(crate) ignored: Vec<String>,
    /// Plans that workers have reported.
    pub(crate) plans: Vec<run::RecordPlanRequest>,
    /// The error for each report of a plan.
    pub(crate) refuses_plans: Option<Code>,
    /// Reports of plans are never answered.
    pub(crate) holds_plans: bool,
    /// Questions whether a plan may be applied.
    pub(crate) permits: Vec<run::PermitApplyRequest>,
    /// The answer to each, with the reason [`REASON`].
    pub(crate) permit: run::PermitDecision,
    /// The error for each, instead of an answer.
    pub(crate) refuses_permits: Option<Code>,
    /// Number of next answers that are lost.
    pub(crate) lost_permits: u32,
    /// These questions get no answer yet.
    pub(crate) holds_permits: bool,
    /// Calls for runs, each with the proof of its lease.
    pub(crate) proofs: Vec<(&'static str, Option<run::LeaseProof>)>,
}

/// Cheap to clone; clones are the same scheduler.
#[derive(Debug, Clone)]
pub(crate) struct PlayedScheduler {
    leases: Arc<tokio::sync::Mutex<UnboundedReceiver<run::Lease>>>,
    outcomes: UnboundedSender<Outcome>,
    lines: Arc<Mutex<Vec<String>>>,
    conduct: Arc<Mutex<Conduct>>,
}

/// The test's controls of the scheduler.
#[derive(Debug)]
pub(crate) struct Strings {
    leases: UnboundedSender<run::Lease>,
    outcomes: UnboundedReceiver<Outcome>,
    lines: Arc<Mutex<Vec<String>>>,
    conduct: Arc<Mutex<Conduct>>,
}

impl Strings {
    /// Makes the scheduler have these contents.
    pub(crate) fn serve(&self, contents: &[&[u8]]) {
        let named = contents
            .iter()
            .map(|bytes| (Digest::of(bytes).to_string(), bytes.to_vec()));
        self.conduct(|conduct| conduct.contents.extend(named));
    }

    /// Makes this the only content of the input of every lease that names no contents.
    fn only_content(&self, content: Vec<u8>) {
        let name = Digest::of(&content).to_string();
        self.conduct(|conduct| {
            conduct.names = vec![name.clone()];
            conduct.contents.insert(name, content);
        });
    }

    /// Grants a run of this kind whose input has this content alone.
    pub(crate) fn grant(&self, kind: run::RunKind, input: Vec<u8>) {
        self.only_content(input);
        self.lease(kind, run::Lease::default());
    }

    /// Grants the second attempt at a run of this kind whose input has this content alone.
    pub(crate) fn grant_again(&self, kind: run::RunKind, input: Vec<u8>) {
        self.only_content(input);
        self.lease(
            kind,
            run::Lease {
                attempt: 2,
                ..run::Lease::default()
            },
        );
    }

    /// Grants this attempt at a run of this kind, which needs permission, and whose input has this content alone.
    pub(crate) fn grant_asking(&self, kind: run::RunKind, input: Vec<u8>, attempt: u32) {
        self.only_content(input);
        self.lease(
            kind,
            run::Lease {
                attempt,
                asks_permission: true,
                ..run::Lease::default()
            },
        );
    }

    /// Grants a run of this kind whose input has these contents.
    pub(crate) fn grant_contents(&self, kind: run::RunKind, contents: Vec<run::InputContent>) {
        self.lease(
            kind,
            run::Lease {
                contents,
                ..run::Lease::default()
            },
        );
    }

    /// Grants an apply of this input, as a scheduler that numbers deliveries does.
    pub(crate) fn grant_delivery(&self, input: Vec<u8>, delivery: u64) {
        self.only_content(input);
        self.lease(
            run::RunKind::Apply,
            run::Lease {
                delivery,
                delivery_first_run: "00000000-0000-7000-8000-00000000000f".into(),
                ..run::Lease::default()
            },
        );
    }

    fn lease(&self, kind: run::RunKind, input: run::Lease) {
        let (life, state, secret) = self.conduct(|conduct| {
            let (known, secret) = (conduct.known.clone(), conduct.secret.clone());
            (conduct.life, known, secret)
        });
        let (plan_key, ignored_attributes) =
            self.conduct(|conduct| (conduct.plan_key.clone(), conduct.ignored.clone()));
        let lease = run::Lease {
            run_id: "00000000-0000-7000-8000-000000000001".into(),
            task_name: "edge".into(),
            input_hash: Digest::of(b"edge").to_string(),
            epoch: 1,
            attempt: input.attempt.max(1),
            time_to_live: Some(convert::duration_to_wire(life)),
            kind: kind.into(),
            state,
            secret,
            plan_key,
            ignored_attributes,
            ..input
        };
        self.leases.send(lease).unwrap();
    }

    /// How the next run has ended.
    pub(crate) async fn outcome(&mut self) -> Outcome {
        let outcome = tokio::time::timeout(DEADLINE, self.outcomes.recv()).await;
        outcome.expect("in time").unwrap()
    }

    /// Waits for the end of the next run, which must have applied.
    pub(crate) async fn applied(&mut self) {
        let outcome = self.outcome().await;
        assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
    }

    /// Waits for the end of the next run, which must have checked.
    pub(crate) async fn checked(&mut self) {
        let outcome = self.outcome().await;
        assert!(matches!(outcome, Outcome::Checked(_)), "{outcome:?}");
    }

    /// Waits for the end of the next run, which must have destroyed.
    pub(crate) async fn destroyed(&mut self) {
        let outcome = self.outcome().await;
        assert!(matches!(outcome, Outcome::Destroyed(_)), "{outcome:?}");
    }

    /// Waits for the end of the next run, which must have been interrupted.
    pub(crate) async fn interrupted(&mut self) {
        let outcome = self.outcome().await;
        assert!(matches!(outcome, Outcome::Interrupted(_)), "{outcome:?}");
    }

    /// The plan of the next run, which must have planned.
    pub(crate) async fn planned(&mut self) -> run::Planned {
        let plan = match self.outcome().await {
            Outcome::Planned(plan) => Ok(plan),
            other => Err(other),
        };
        plan.unwrap()
    }

    /// The error of the next run, which must have failed.
    pub(crate) async fn failed(&mut self) -> String {
        let error = match self.outcome().await {
            Outcome::Failed(failed) => Ok(failed.error),
            other => Err(other),
        };
        error.unwrap()
    }

    /// Details of the run whose outcome was read last.
    pub(crate) fn details(&self) -> run::RunDetails {
        self.conduct(|conduct| conduct.details.take()).unwrap()
    }

    /// Changes or reads the behaviour of the scheduler.
    pub(crate) fn conduct<T>(&self, change: impl FnOnce(&mut Conduct) -> T) -> T {
        change(&mut self.conduct.lock().unwrap())
    }

    /// Waits until the scheduler has seen something.
    pub(crate) async fn until(&self, seen: impl Fn(&Conduct) -> bool) {
        let mut looks = tokio::time::interval(Duration::from_millis(20));
        let wait = async {
            while !self.conduct(|conduct| seen(conduct)) {
                looks.tick().await;
            }
        };
        tokio::time::timeout(DEADLINE, wait).await.expect("in time");
    }

    /// Everything that was logged until now.
    pub(crate) fn log(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }
}

pub(crate) fn played_scheduler() -> (PlayedScheduler, Strings) {
    let (leases, granted) = unbounded_channel();
    let (told, outcomes) = unbounded_channel();
    let lines = Arc::default();
    let conduct = Arc::new(Mutex::new(Conduct {
        life: Duration::from_mins(2),
        ..Conduct::default()
    }));
    let scheduler = PlayedScheduler {
        leases: Arc::new(tokio::sync::Mutex::new(granted)),
        outcomes: told,
        lines: Arc::clone(&lines),
        conduct: Arc::clone(&conduct),
    };
    let strings = Strings {
        leases,
        outcomes,
        lines,
        conduct,
    };
    (scheduler, strings)
}

impl PlayedScheduler {
    pub(crate) fn endpoints(&self) -> Endpoints {
        Endpoints::new()
            .with(RunServiceServer::new(self.clone()))
            .with(PlanServiceServer::new(self.clone()))
            .with(ApprovalServiceServer::new(self.clone()))
            .with(LogServiceServer::new(self.clone()))
            .with(WorkerServiceServer::new(self.clone()))
    }

    fn conduct<T>(&self, change: impl FnOnce(&mut Conduct) -> T) -> T {
        change(&mut self.conduct.lock().unwrap())
    }

    /// Notes a call for a run.
    fn note<T>(&self, call: &'static str, request: &Request<T>) {
        let proof = lease_proof(request.metadata()).unwrap();
        self.conduct(|conduct| conduct.proofs.push((call, proof)));
    }

    fn keep(&self, lines: Vec<log::LogLine>) {
        let texts = lines.into_iter().map(|line| line.text);
        self.lines.lock().unwrap().extend(texts);
    }
}
