//! Lives of runs, on a server without Terraform.

use std::time::Duration;

use cts_testkit::eventually;
use cts_testkit::hcp::{HcpSettings, Outcome, Phase, Policy};
use serde_json::{Value, json};

use crate::client::{DEADLINE, Session};

const PLAN_ONLY: &str = r#"POST /runs run {"plan-only": true} -> 201"#;

async fn session(attributes: Value) -> Session {
    Session::with_workspace(HcpSettings::default(), attributes).await
}

/// Waits until the run at this place of the queue has a status.
async fn at(session: &Session, place: usize, phase: Phase) {
    eventually(DEADLINE, async || {
        let found = session.server.runs("web")[place].phase;
        if found == phase {
            Ok(())
        } else {
            Err(format!("{found:?}"))
        }
    })
    .await;
}

#[tokio::test]
async fn a_workspace_has_one_run_at_a_time_besides_those_that_only_plan() {
    let mut session = session(json!({})).await;
    let first = session.server.queue_run("web", "first");
    session.confirmable().await;
    let second = session.server.queue_run("web", "second");
    session.table(PLAN_ONLY).await;
    session.reached(Phase::PlannedAndFinished).await;
    at(&session, 1, Phase::Pending).await;
    session.server.discard(&first);
    at(&session, 0, Phase::Discarded).await;
    eventually(DEADLINE, async || {
        let waits = session.server.runs("web")[1].confirmable;
        waits.then_some(()).ok_or("the second run goes on")
    })
    .await;
    session.server.confirm(&second);
    at(&session, 1, Phase::Applied).await;
}

#[tokio::test]
async fn a_locked_workspace_leaves_runs_pending() {
    let mut session = session(json!({"auto-apply": true})).await;
    session.server.lock("web");
    session.server.queue_run("web", "m");
    session.table(PLAN_ONLY).await;
    session.reached(Phase::PlannedAndFinished).await;
    at(&session, 0, Phase::Pending).await;
    session.server.unlock("web");
    at(&session, 0, Phase::Applied).await;
}

#[tokio::test]
async fn auto_apply_of_a_run_wins_over_that_of_its_workspace() {
    let mut session = session(json!({"auto-apply": true})).await;
    session
        .table(r#"POST /runs run {"auto-apply": false} -> 201 attributes {"auto-apply": false}"#)
        .await;
    let id = session.confirmable().await;
    session.server.discard(&id);
    session
        .server
        .update_workspace("web", json!({"auto-apply": false}));
    session
        .table(r#"POST /runs run {"auto-apply": true} -> 201 attributes {"auto-apply": true}"#)
        .await;
    session.reached(Phase::Applied).await;
}

#[tokio::test]
async fn every_status_can_be_held() {
    let session = session(json!({"auto-apply": true})).await;
    session.server.set_policy("web", Policy::Passed);
    session.server.estimate_costs("web", true);
    let phases = [
        Phase::Pending,
        Phase::Fetching,
        Phase::PlanQueued,
        Phase::Planning,
        Phase::Planned,
        Phase::CostEstimating,
        Phase::CostEstimated,
        Phase::PolicyChecking,
        Phase::PolicyChecked,
        Phase::Confirmed,
        Phase::ApplyQueued,
        Phase::Applying,
    ];
    for phase in phases {
        session.server.hold(phase);
    }
    session.server.queue_run("web", "m");
    for phase in phases {
        session.reached(phase).await;
        session.server.release(phase);
    }
    session.reached(Phase::Applied).await;
}

#[tokio::test]
async fn plans_end_as_the_outcome_says() {
    let nothing = Outcome {
        additions: 0,
        ..Outcome::default()
    };
    let plan_fails = Outcome {
        plan_fails: true,
        ..nothing
    };
    let apply_fails = Outcome {
        apply_fails: true,
        ..Outcome::default()
    };
    let rows = [
        (
            nothing,
            Phase::PlannedAndFinished,
            "finished",
            "unreachable",
        ),
        (plan_fails, Phase::Errored, "errored", "unreachable"),
        (apply_fails, Phase::Errored, "finished", "errored"),
    ];
    for (outcome, end, plan, apply) in rows {
        let mut session = session(json!({"auto-apply": true})).await;
        session.server.set_outcome("web", outcome);
        session.table("POST /runs run {} -> 201 as run").await;
        session.reached(end).await;
        let stages = format!(
            "GET /runs/{{run}}/plan -> 200 attributes {{\"status\": \"{plan}\"}}\n\
             GET /runs/{{run}}/apply -> 200 attributes {{\"status\": \"{apply}\"}}"
        );
        session.table(&stages).await;
    }
}

#[tokio::test]
async fn a_held_run_is_cancelled() {
    let mut session = session(json!({})).await;
    session.server.hold(Phase::Planning);
    session.table("POST /runs run {} -> 201 as run").await;
    session.reached(Phase::Planning).await;
    session
        .table("POST /runs/{run}/actions/cancel -> 202")
        .await;
    session.reached(Phase::Canceled).await;
    let rows = r#"
GET /runs/{run}/plan -> 200 attributes {"status": "canceled"}
GET /workspaces/{ws} -> 200 attributes {"locked": false}"#;
    session.table(rows).await;
}

#[tokio::test]
async fn agents_work_when_they_are_there_and_the_mode_stays() {
    let mut session = session(json!({})).await;
    let pool = session.server.add_agent_pool("inside", 0);
    let agent = json!({"execution-mode": "agent", "agent-pool-id": pool});
    session.server.update_workspace("web", agent);
    session.server.queue_run("web", "m");
    session.reached(Phase::PlanQueued).await;
    session.server.set_agents("inside", 1);
    let id = session.confirmable().await;
    session
        .table(r#"PATCH /workspaces/{ws} workspaces {"execution-mode": "remote"} -> 200"#)
        .await;
    session.server.confirm(&id);
    session.reached(Phase::Errored).await;
}

#[tokio::test]
async fn hundreds_of_runs_are_followed_at_once() {
    const WORKSPACES: usize = 200;
    let session = session(json!({})).await;
    session.server.hold(Phase::Applying);
    let name = |number: usize| format!("w{number}");
    for number in 0..WORKSPACES {
        session
            .server
            .create_workspace(&name(number), json!({"auto-apply": true}));
        session
            .server
            .upload_configuration(&name(number), &[("main.tf", "")]);
        session.server.queue_run(&name(number), "m");
    }
    session.server.release(Phase::Applying);
    for number in 0..WORKSPACES {
        session
            .server
            .reached(&name(number), Phase::Applied, Duration::from_mins(2))
            .await;
    }
}
