//! Messages with every member set, and with every word of an enumeration.

use std::collections::BTreeMap;

use cts_proto::access::v1::{AuditRecord, ListAuditRecordsResponse};
use cts_proto::cluster::v1::{
    ConfigurationInForce, GetConfigurationResponse, MemberConfiguration, TaskDifference,
    TaskDifferenceKind, WorkerDifference,
};
use cts_proto::json::Word;
use cts_proto::log::v1::{
    LogAttempt, LogExcerpt, LogLine, LogSearchState, LogStream, ReadLogResponse,
    ReadLogWindowResponse, SearchLogResponse,
};
use cts_proto::run::v1::run_output::Value;
use cts_proto::run::v1::{
    Approval, ApprovalState, AttemptEnding, AttemptRecord, Cause, CauseState, CauseTasks,
    Diagnostic, DiagnosticSeverity, FollowRunsResponse, GetQueueResponse, KnownState,
    ListCausesResponse, ListRunsResponse, PhaseTimes, PlanCounts, Planned, RemoteConfiguration,
    RemoteRun, RemoteWorkspace, ResourceAction, ResourceChange, ResourceCounts, Run, RunDetails,
    RunKind, RunOutput, RunPhase, RunStatus, StateAt, StateConflict, StateKeep, TerraformState,
    WaitingRuns,
};
use cts_proto::task::v1::{
    CurrentStateName, Decision, DecisionKind, Event, Explanation, Hold, KnownTerraformState, Loss,
    ObservedView, Obstacle, ObstacleKind, TaskPhase, TaskState, TaskStatus, ViewProblem,
};
use prost_types::{Duration, Timestamp};

use super::overviews::current_state;

/// Id of a run, as schemas require it.
pub(super) const RUN: &str = "0197a000-0000-7000-8000-000000000001";

/// Id of a cause.
const CAUSE: &str = "0197a000-0000-7000-8000-000000000002";

/// Address of a remote run.
const REMOTE_URL: &str = "https://tfe.example.com/app/network/workspaces/cts-dns/runs/run-1";

/// Every value of an enumeration.
pub(super) fn every<E: Word>() -> impl Iterator<Item = i32> {
    (0..100).filter(|value| E::try_from(*value).is_ok())
}

pub(super) const fn at(seconds: i64, nanos: i32) -> Timestamp {
    Timestamp {
        seconds: 1_770_110_130 + seconds,
        nanos,
    }
}

pub(super) const fn time(seconds: i64, nanos: i32) -> Duration {
    Duration { seconds, nanos }
}

/// An effect in each of its states.
pub(super) fn approvals() -> Vec<Approval> {
    let approval = |state| Approval {
        run_id: RUN.into(),
        task_name: "edge-lb".into(),
        effect: "0af1".into(),
        state,
        counts: Some(PlanCounts {
            deleted: 2,
            ..PlanCounts::default()
        }),
        unclear: vec!["the plan is not complete".into()],
        asked_at: Some(at(0, 0)),
        gone_at: Some(at(1, 0)),
        decided_by: "token \"ci\"".into(),
        decided_at: Some(at(2, 0)),
        comment: "on call".into(),
        expires_at: Some(at(3, 0)),
        differs: vec!["t.a: tags".into()],
        cause: vec!["web: -web-3".into()],
    };
    every::<ApprovalState>().map(approval).collect()
}

const fn counts() -> ResourceCounts {
    ResourceCounts {
        added: 1,
        changed: 2,
        destroyed: 3,
        imported: 4,
    }
}

pub(super) fn queue() -> GetQueueResponse {
    GetQueueResponse {
        queued: 7,
        awaiting_consent: 6,
        ready: 5,
        running: 4,
        oldest_ready: Some(time(93, 900_000_000)),
        slots: u64::MAX,
        waiting: vec![
            WaitingRuns {
                reason: "there is <no> worker".into(),
                runs: 2,
                oldest: Some(time(93, 900_000_000)),
                task_name: "edge".into(),
            },
            WaitingRuns::default(),
        ],
    }
}

pub(super) fn configuration() -> GetConfigurationResponse {
    let difference = |kind| TaskDifference {
        task_name: "edge".into(),
        kind,
    };
    GetConfigurationResponse {
        in_force: Some(ConfigurationInForce {
            number: 2,
            digest: "d1".into(),
            decided_by: "cts-a".into(),
            decided_at: Some(at(0, 0)),
            task_names: vec!["edge".into(), "web".into()],
            fleet_max_shrink: "20% within 600 s, at least 20".into(),
            approvals: "destroy, consents expire after 86400 s".into(),
        }),
        members: vec![MemberConfiguration {
            id: "cts-b".into(),
            address: Some("b:8558".into()),
            leader: true,
            digest: Some("d2".into()),
            in_force: true,
            differences: every::<TaskDifferenceKind>().map(difference).collect(),
            settings: BTreeMap::from([("session_ttl".into(), "15s".into())]),
            registered_at: Some(at(1, 500_000_000)),
        }],
        workers: vec![WorkerDifference {
            id: "w-1".into(),
            host: "w".into(),
            blocks: vec!["provider aws.east".into()],
        }],
    }
}

pub(super) fn audit() -> ListAuditRecordsResponse {
    ListAuditRecordsResponse {
        records: vec![AuditRecord {
            number: 7,
            time: Some(at(0, 500_000_000)),
            caller_kind: "user".into(),
            caller: "alice".into(),
            issuer: "https://login.example".into(),
            address: "10.0.0.1".into(),
            action: "task.update".into(),
            target: "edge".into(),
            arguments: BTreeMap::from([("enabled".into(), "true".into())]),
            outcome: "refused".into(),
            reason: "it is <active>".into(),
            request_id: RUN.into(),
            count: 2,
        }],
    }
}

fn details() -> RunDetails {
    let change = |action| ResourceChange {
        address: "module.dns.local_file.zone".into(),
        action,
    };
    let output = |name: &str, value| RunOutput {
        name: name.into(),
        value,
    };
    RunDetails {
        resources: Some(counts()),
        phases: Some(PhaseTimes {
            render: Some(time(0, 1_999_999)),
            init: Some(time(1, 0)),
            validate: Some(time(0, 0)),
            plan: Some(time(-1, 0)),
            apply: Some(time(4, 5_000_000)),
            queue: Some(time(i64::MAX, 0)),
            wait: Some(time(2, 0)),
        }),
        changes: every::<ResourceAction>().chain([77]).map(change).collect(),
        more_changes: 5,
        diagnostics: vec![
            Diagnostic {
                severity: DiagnosticSeverity::Error.into(),
                summary: "Invalid <value>".into(),
                detail: "It must be\nsomething else.".into(),
                address: "module.dns.local_file.zone".into(),
                file: "dns/main.tf".into(),
                line: 7,
                snippet: "x = 1".into(),
            },
            Diagnostic {
                severity: DiagnosticSeverity::Warning.into(),
                ..Diagnostic::default()
            },
            Diagnostic::default(),
        ],
        more_diagnostics: 6,
        outputs: vec![
            output("text", Some(Value::Json("\"10.0.0.1\"".into()))),
            output(
                "object",
                Some(Value::Json(r#"{"b":[1,2.5e300,null],"a":{}}"#.into())),
            ),
            output("nothing", Some(Value::Json("null".into()))),
            output("unreadable", Some(Value::Json("{".into()))),
            output("secret", Some(Value::Sensitive(true))),
            output("long", Some(Value::TooLong(true))),
            output("unknown", None),
        ],
        remote_url: REMOTE_URL.into(),
        error_code: "terraform-failed".into(),
        worker_version: "0.1.0".into(),
    }
}

fn remote_run() -> RemoteRun {
    RemoteRun {
        id: "run-1".into(),
        url: REMOTE_URL.into(),
        status: "planning".into(),
        waiting_for: "2 other runs".into(),
        ended: true,
        given_up: false,
        abandoned: false,
        verified_moves: Some(1),
        number: 2,
        workspace: Some(RemoteWorkspace {
            hostname: "tfe.example.com".into(),
            organization: "network".into(),
            name: "cts-dns".into(),
            id: "ws-1".into(),
            project: "prj-1".into(),
        }),
        configuration: Some(RemoteConfiguration {
            id: "cv-1".into(),
            digest: "0".repeat(64),
        }),
    }
}

pub(super) fn run() -> Run {
    Run {
        id: RUN.into(),
        task_name: "dns".into(),
        kind: RunKind::DestroyPlan.into(),
        no_retry: true,
        status: RunStatus::Succeeded.into(),
        attempts: 2,
        error: "could not apply & so on".into(),
        plan: Some(Planned {
            text: "Plan: 1 to add\n".into(),
            changes_present: true,
            remote_url: String::new(),
            would_wait: "rule destroy, 1 to destroy".into(),
            effect: "0af1".into(),
        }),
        state: "waiting".into(),
        queued_at: Some(at(0, 0)),
        started_at: Some(at(1, 123_456_789)),
        finished_at: Some(at(2, 500_000_000)),
        waiting_for: "a worker".into(),
        remote_run: Some(remote_run()),
        details: Some(details()),
        requested_by: "token \"ci\"".into(),
        worker_id: "w-1-0197".into(),
        cause: vec!["web: +web-3".into()],
        attempt_records: every::<AttemptEnding>()
            .map(attempt)
            .chain([AttemptRecord::default()])
            .collect(),
        phase: RunPhase::Apply.into(),
        phase_since: Some(at(1, 0)),
        triggered_at: Some(at(0, 0)),
        blocked_since: Some(at(0, 0)),
        cause_ids: vec![CAUSE.into()],
    }
}

pub(super) fn causes() -> ListCausesResponse {
    let tasks = every::<CauseState>().map(|state| CauseTasks {
        state,
        count: 12,
        names: vec!["dns".into()],
    });
    let cause = Cause {
        id: CAUSE.into(),
        at: Some(at(0, 0)),
        lines: vec!["web −40".into(), "api −12".into()],
        tasks: tasks.chain([CauseTasks::default()]).collect(),
    };
    ListCausesResponse {
        causes: vec![cause],
        next_page_token: CAUSE.into(),
    }
}

fn attempt(ending: i32) -> AttemptRecord {
    AttemptRecord {
        number: 1,
        worker_id: "w-1-0197".into(),
        worker: "w-1".into(),
        ending,
        leased_at: Some(at(1, 0)),
        renewed_at: Some(at(1, 500_000_000)),
        ended_at: Some(at(2, 0)),
        phases: details().phases,
        error: "could not apply".into(),
        worker_version: "0.1.0".into(),
        phase: RunPhase::Plan.into(),
        retry_after: Some(Duration {
            seconds: 5,
            nanos: 0,
        }),
    }
}

pub(super) fn runs() -> ListRunsResponse {
    let kinds = every::<RunKind>().map(|kind| Run {
        kind,
        status: RunStatus::Queued.into(),
        ..Run::default()
    });
    let statuses = every::<RunStatus>().map(|status| Run {
        kind: RunKind::Apply.into(),
        status,
        ..Run::default()
    });
    let without_findings = Run {
        details: Some(RunDetails::default()),
        ..Run::default()
    };
    let single = [run(), without_findings].into_iter();
    ListRunsResponse {
        runs: single.chain(kinds).chain(statuses).collect(),
        next_page_token: "p2".into(),
    }
}

pub(super) fn explanation() -> Explanation {
    let obstacle = |kind| Obstacle {
        kind,
        text: "the next attempt is not due".into(),
        until: Some(at(5, 0)),
    };
    Explanation {
        task_name: "dns".into(),
        revision: 3,
        enabled: true,
        phase: TaskPhase::Ready.into(),
        as_of: Some(at(0, 0)),
        views: vec![ObservedView {
            name: "services: web".into(),
            complete: true,
            revision: 7,
            changed_at: Some(at(1, 0)),
            triggers: true,
            problem: Some(ViewProblem {
                text: "cannot reach consul".into(),
                since: Some(at(1, 0)),
                next_try: Some(at(2, 0)),
                last_answer: Some(at(0, 50_000_000)),
            }),
        }],
        buffered_until: Some(at(2, 0)),
        next_tick: Some(at(6, 0)),
        last_decision: Some(Decision {
            kind: DecisionKind::SkippedUnchanged.into(),
            at: Some(at(4, 0)),
            run_id: RUN.into(),
            text: "the input is the one that was applied last".into(),
        }),
        current_run: Some(run()),
        last_run: Some(run()),
        obstacles: every::<ObstacleKind>().map(obstacle).collect(),
        state: Some(current_state(CurrentStateName::Running.into())),
    }
}

pub(super) fn hold() -> Hold {
    Hold {
        since: Some(at(0, 120_000_000)),
        losses: vec![Loss {
            service: "web".into(),
            applied: 4,
            now: 1,
        }],
        by_brake: true,
    }
}

pub(super) fn state() -> KnownTerraformState {
    let place = |backend: &str, resources| StateAt {
        backend: backend.into(),
        workspace: "web".into(),
        state: Some(TerraformState {
            lineage: "l-2".into(),
            serial: 4,
            resources,
        }),
    };
    KnownTerraformState {
        known: Some(KnownState {
            lineage: "l-1".into(),
            serial: 3,
            moves: 2,
            moved_serial: Some(1),
            keep: StateKeep::Old.into(),
            from: "former".into(),
        }),
        recorded_at: Some(at(0, 0)),
        conflict: Some(StateConflict {
            reason: "both have resources".into(),
            old: Some(place("consul", Some(9))),
            new: Some(place("local", None)),
        }),
        conflict_at: Some(at(1, 0)),
    }
}

pub(super) fn task_state() -> TaskState {
    TaskState {
        task_name: "web".into(),
        status: TaskStatus::Errored.into(),
        enabled: true,
        providers: vec!["dns".into()],
        services: vec!["api".into()],
        event_count: 1,
        events: vec![Event {
            id: "e-1".into(),
            task_name: "web".into(),
            run_id: RUN.into(),
            success: false,
            start_time: Some(at(0, 0)),
            end_time: Some(at(1, 1)),
            error: Some("exit status 1".into()),
            providers: vec!["dns".into()],
            services: vec!["api".into()],
            source: "./m".into(),
            resources: Some(counts()),
            remote_url: REMOTE_URL.into(),
            requested_by: "token \"ci\"".into(),
            cause: vec!["web: +web-3".into()],
            cause_ids: vec![CAUSE.into()],
        }],
        hold: Some(hold()),
        check_error: "error tf-init for 'web': no such module".into(),
    }
}

pub(super) fn change() -> FollowRunsResponse {
    FollowRunsResponse {
        run_id: RUN.into(),
        task_name: "dns".into(),
        status: RunStatus::Running.into(),
        at: Some(at(0, 0)),
        kind: RunKind::Apply.into(),
        brake: false,
        approval: None,
    }
}

pub(super) fn log() -> ReadLogResponse {
    let line = |stream: i32, text: &str| LogLine {
        stream,
        text: text.into(),
    };
    ReadLogResponse {
        position: 3,
        lines: vec![
            line(LogStream::Stdout.into(), "Plan: 1 to <add>"),
            line(LogStream::Stderr.into(), "é \"x\""),
            line(0, ""),
        ],
    }
}

fn excerpts() -> Vec<LogExcerpt> {
    let cut = LogExcerpt {
        position: 7,
        stream: LogStream::Stderr.into(),
        text: "<cut".into(),
        bytes: 70_000,
        address: "/v1/runs/RUN/log?line=7".into(),
    };
    vec![cut, LogExcerpt::default()]
}

pub(super) fn log_window() -> ReadLogWindowResponse {
    ReadLogWindowResponse {
        lines: excerpts(),
        last_position: 9,
        attempts: vec![LogAttempt {
            number: 2,
            first_position: 4,
            lines: 6,
        }],
    }
}

pub(super) fn log_search() -> SearchLogResponse {
    SearchLogResponse {
        lines: excerpts(),
        searched_from: 7,
        state: LogSearchState::Replaced.into(),
    }
}
