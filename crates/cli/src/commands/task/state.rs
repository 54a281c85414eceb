//! `cts task state`.

use cts_api_client::{CurrentState, KnownState, StateDecision};
use cts_proto::run::v1::{StateAt, TerraformState};
use cts_proto::task::v1::CurrentStateName;
use serde_json::json;

use super::prompt::ask;
use super::replace::show_hold;
use super::session::{ExitStatus, Session};
use crate::arguments::{KeptState, Output, State, WideOption};
use crate::commands::table::{sheet, table};
use crate::commands::terminal_text::on_one_line;
use crate::commands::time_text::{local, moment};

/// The decision that the options give.
fn decision(options: &State) -> Option<StateDecision<'_>> {
    let keep = options.keep.map(|keep| match keep {
        KeptState::Old => StateDecision::Keep("old"),
        KeptState::New => StateDecision::Keep("new"),
    });
    keep.or_else(|| options.from.as_deref().map(StateDecision::From))
}

pub(super) async fn run(session: &mut Session<'_>, options: &State) -> Result<(), ExitStatus> {
    match (&options.name, decision(options)) {
        (Some(name), decision) => one(session, options, name, decision).await,
        (None, Some(decision)) => all(session, options, decision).await,
        // The arguments have a name, or a decision about all.
        (None, None) => Ok(()),
    }
}

async fn one(
    session: &mut Session<'_>,
    options: &State,
    name: &str,
    decision: Option<StateDecision<'_>>,
) -> Result<(), ExitStatus> {
    let client = session.client(&options.query.client)?;
    let state = client.terraform_state(name).await;
    let mut state = state.map_err(|error| session.unanswered("show the state of", name, &error))?;
    if let Some(decision) = decision {
        if !options.auto_approve {
            let status = client.task_status(name).await;
            let status = status
                .map_err(|error| session.unanswered("decide about the state of", name, &error))?;
            if let Some(hold) = &status.hold {
                show_hold(session, name, hold);
                session.ui.output(
                    "The decision is stored, and a run that is not blocked carries it out.",
                );
            }
            if !is_approved(session, &state, decision).await? {
                return Ok(());
            }
        }
        let decided = client.decide_terraform_state(name, decision).await;
        state = decided
            .map_err(|error| session.unanswered("decide about the state of", name, &error))?;
        session.ui.note(&format!(
            "It is decided; the next run of '{name}' carries it out"
        ));
    }
    let text = match options.query.output {
        Output::Table => sheet(entries(&state)),
        Output::Json => format!("{:#}\n", json!(state)),
    };
    session.ui.result(&text);
    Ok(())
}

/// Decides about every task whose state was refused. A task that is refused from now on needs a decision of its own.
async fn all(
    session: &mut Session<'_>,
    options: &State,
    decision: StateDecision<'_>,
) -> Result<(), ExitStatus> {
    let client = session.client(&options.query.client)?;
    let states = client.current_states().await;
    let states = states.map_err(|error| session.unanswered("list", "the tasks", &error))?;
    let mut refused = Vec::new();
    for (name, _state) in states.iter().filter(|(_name, state)| may_be_refused(state)) {
        let state = client.terraform_state(name).await;
        let state = state.map_err(|error| session.unanswered("show the state of", name, &error))?;
        if state.conflict.is_some() && state.keep.is_none() {
            refused.push(state);
        }
    }
    if refused.is_empty() {
        session
            .ui
            .note("No task waits for a decision about its state");
    } else if !options.auto_approve
        && !are_approved(session, &refused, decision, options.query.wide).await?
    {
        return Ok(());
    }
    let mut decided = Vec::new();
    for state in &refused {
        let name = &state.task;
        let answer = client.decide_terraform_state(name, decision).await;
        decided.push(
            answer
                .map_err(|error| session.unanswered("decide about the state of", name, &error))?,
        );
        session.ui.note(&format!(
            "It is decided; the next run of '{name}' carries it out"
        ));
    }
    if let Output::Json = options.query.output {
        session.ui.result(&format!("{:#}\n", json!(decided)));
    }
    Ok(())
}

/// Whether a task in this state may have a refused state; so only few states are read.
fn may_be_refused(state: &CurrentState) -> bool {
    matches!(
        state.name(),
        CurrentStateName::Blocked
            | CurrentStateName::Deleting
            | CurrentStateName::Running
            | CurrentStateName::Waiting
    )
}

async fn are_approved(
    session: &mut Session<'_>,
    refused: &[KnownState],
    decision: StateDecision<'_>,
    wide: WideOption,
) -> Result<bool, ExitStatus> {
    let rows = refused.iter().map(|state| {
        let reason = state.conflict.as_ref().map(|conflict| &*conflict.reason);
        [
            state.task.clone(),
            on_one_line(reason.unwrap_or_default()).into_owned(),
        ]
    });
    session
        .ui
        .output(&table(["TASK", "REFUSED"], rows, wide.width()));
    let (which, consequence) = match decision {
        StateDecision::Keep("old") => (
            "the states of the old backend",
            "What the new backend has for these tasks is overwritten, whatever it is.",
        ),
        StateDecision::Keep(_) | StateDecision::From(_) => (
            "what is in the backend",
            "Where that is no state or an older one, resources are made again; those that are missing in it are not destroyed.",
        ),
    };
    session.ui.info(&format!(
        "Do you want {} tasks to go on with {which}?",
        refused.len()
    ));
    session.ui.output(&format!(" - {consequence}"));
    ask(session, "Nothing is decided").await
}

async fn is_approved(
    session: &mut Session<'_>,
    state: &KnownState,
    decision: StateDecision<'_>,
) -> Result<bool, ExitStatus> {
    let name = &state.task;
    let (question, consequences) = match decision {
        StateDecision::Keep("old") => (
            format!("Do you want '{name}' to go on with the state of the old backend?"),
            [
                "What the new backend has for the task is overwritten, whatever it is.",
                "Resources that only that state knows are not destroyed, and are managed by nothing.",
            ],
        ),
        StateDecision::Keep(_) => (
            format!("Do you want '{name}' to go on with what is in the new backend?"),
            [
                "The state of the old backend stays there, and is not looked at any more.",
                "Resources that only that state knows are not destroyed, and may be made again.",
            ],
        ),
        StateDecision::From(earlier) => (
            format!("Do you want '{name}' to take the state of the earlier task '{earlier}'?"),
            [
                "It is pushed to the workspace of the task, which must have none; the old workspace keeps its own.",
                "No task may be called by the earlier name any more, or both manage the same resources.",
            ],
        ),
    };
    for (key, text) in entries(state) {
        session.ui.output(&format!("{key}: {}", on_one_line(&text)));
    }
    session.ui.info(&question);
    for consequence in consequences {
        session.ui.output(&format!(" - {consequence}"));
    }
    ask(session, &format!("Nothing is decided about '{name}'")).await
}

fn entries(state: &KnownState) -> Vec<(&'static str, String)> {
    let mut entries = vec![("Name", state.task.clone())];
    match &state.state {
        None => entries.push(("State", "nothing is known yet".to_owned())),
        Some(known) => {
            entries.push(("Lineage", known.lineage.clone()));
            entries.push(("Serial", known.serial.to_string()));
            entries.push(("Moves", known.moves.to_string()));
            entries.extend(moment(known.recorded_at).map(|at| ("Recorded", local(at))));
        }
    }
    entries.extend(state.keep.clone().map(|keep| ("Keeps", keep)));
    entries.extend(state.from.clone().map(|from| ("Takes that of", from)));
    if let Some(conflict) = &state.conflict {
        entries.push(("Refused", conflict.reason.clone()));
        entries.extend(moment(conflict.at).map(|at| ("Since", local(at))));
        let old = conflict.old.as_ref();
        entries.push(("Old", old.map_or("not known".to_owned(), place)));
        let new = conflict.new.as_ref();
        entries.push(("New", new.map_or("not known".to_owned(), place)));
    }
    entries
}

fn place(place: &StateAt) -> String {
    let StateAt {
        backend,
        workspace,
        state,
    } = place;
    let state = match state {
        Some(TerraformState {
            lineage,
            serial,
            resources,
        }) => {
            let resources = resources.map(|number| format!(", {number} resources"));
            let resources = resources.unwrap_or_default();
            format!("lineage {lineage}, serial {serial}{resources}")
        }
        None => "no state".to_owned(),
    };
    format!("backend {backend}, workspace {workspace}: {state}")
}
