//! Effects of an action at this moment, and the form that confirms the action.

use askama::Template;
use cts_proto::cluster::v1::{Brake, OverviewWorker};
use cts_proto::json::{KnownState, Word as _};
use cts_proto::run::v1::{Approval, ApprovalState, Run, RunKind, RunStatus, StateAt};
use cts_proto::task::v1::Hold;

use super::answers::{self, Consents, Task};
use super::consent;
use super::table::Key;
use crate::action::Button;
use crate::address::{Query, escape};
use crate::context::{Context, Refusal};
use crate::form::{Field, Form, Submit};
use crate::text::{Foreign, Markup};
use crate::time::Time;

/// Effects of an action, and its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Confirmation {
    pub(crate) facts: Markup,
    /// The run whose plan shows what would be taken away.
    pub(crate) plan: Option<String>,
    /// A button for what comes before the form or takes its place.
    pub(crate) other: Option<Markup>,
    /// The form; without buttons there is nothing to be confirmed.
    pub(crate) form: Form,
}

/// Facts about the target of an action.
#[derive(Template)]
#[template(path = "confirm/facts.html")]
enum Facts {
    Release(Option<Hold>),
    State(KnownState),
    Delete(Task),
    Cancel {
        run: Box<Run>,
        by_force: bool,
    },
    Set(Consents),
    Consent {
        approval: Box<Approval>,
        task: String,
        run: String,
    },
    Brake(Brake),
    Drain(OverviewWorker),
}

/// Query and fields of a confirmation.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    /// Query of its address.
    pub(crate) address: &'a Query,
    /// Fields of its form, if the form was sent.
    pub(crate) sent: Option<&'a Query>,
}

impl<'a> Given<'a> {
    /// The values of a field that the address of the screen may have, too.
    fn all(self, name: &'a str) -> Vec<&'a str> {
        self.sent.unwrap_or(self.address).all(name).collect()
    }
}

/// Reads what the action `key` would do to `target` at this moment.
///
/// # Errors
///
/// A refused call; `NOT_FOUND` if the target does not exist.
pub(crate) async fn confirmation(
    (key, target): (Key, &str),
    given: Given<'_>,
    context: &Context<'_>,
) -> Result<Confirmation, Refusal> {
    let sent = given.sent;
    // One form has both decisions; the button of a rejection has an address of its own.
    let action = match key {
        Key::Reject => Key::Approve.action(),
        key => key.action(),
    };
    let (mut plan, mut other) = (None, None);
    let label = |label, decision| Submit {
        label,
        decision,
        ..Submit::default()
    };
    let mut buttons = vec![label(action.label, "")];
    let named = |task: &str| Field::typed(&[(task.to_owned(), "the name of the task")], sent);
    let (facts, fields) = match key {
        Key::Release => {
            let hold = answers::hold(target, context).await?;
            if hold.is_none() {
                buttons.clear();
            }
            let losses = hold.iter().flat_map(|hold| &hold.losses);
            let seen =
                losses.map(|it| Field::hidden("seen", &format!("{} {}", it.now, it.service)));
            let seen = seen.collect();
            (Facts::Release(hold), seen)
        }
        Key::DecideState => {
            let known = answers::state(target, context).await?;
            let mut from = Field::line("from", "Name of an earlier task", sent);
            let is_from = sent.is_some_and(|sent| sent.get("decision") == "from");
            if is_from && from.value.is_empty() {
                from.fault = Some("The name of the earlier task is missing.".to_owned());
            }
            buttons = vec![label("Take the state of the earlier task", "from")];
            if known.conflict.is_some() {
                buttons.insert(0, label("Keep what the new backend has", "new"));
                buttons.insert(0, label("Keep the state of the old backend", "old"));
            }
            (Facts::State(known), vec![from, named(target)])
        }
        Key::Delete => {
            let task = answers::task(target, context).await?;
            let mut fields = vec![Field::hidden("seen", &task.on_delete), named(target)];
            if task.on_delete == "destroy" {
                let retains = sent.is_some_and(|sent| !sent.get("retain").is_empty());
                fields.push(Field::tick(
                    "retain",
                    "Leave the infrastructure as it is",
                    retains,
                ));
                other = Some(Button::new(Key::PlanDestruction.action(), target, context).markup());
            }
            if let Some(run) = given.all("run").first()
                && let Ok(run) = answers::run(run, context).await
                && run.task_name == target
                && run.kind() == RunKind::DestroyPlan
            {
                fields.push(Field::hidden("run", &run.id));
                plan = Some(run.id);
            }
            (Facts::Delete(task), fields)
        }
        Key::Cancel | Key::CancelByForce => {
            let run = Box::new(answers::run(target, context).await?);
            let by_force = key == Key::CancelByForce;
            let mut fields = vec![Field::hidden("seen", &run.status().word())];
            if !matches!(run.status(), RunStatus::Queued | RunStatus::Running) {
                buttons.clear();
            }
            if by_force {
                fields.push(named(&run.task_name));
            }
            (Facts::Cancel { run, by_force }, fields)
        }
        Key::ApproveSet => {
            let mut patterns = given.all("task");
            if patterns.is_empty() {
                patterns.push("*");
            }
            let listed = answers::approvals(&patterns, context).await?;
            if listed.set.is_empty() {
                buttons.clear();
            }
            let mut fields = consent::fields_of_set(&listed, sent);
            fields.extend(patterns.iter().map(|it| Field::hidden("task", it)));
            (Facts::Set(listed), fields)
        }
        Key::Approve | Key::Reject => {
            let approval = Box::new(answers::approval(target, context).await?);
            let reject = Key::Reject.action();
            buttons.push(Submit {
                address: context.link(&reject.path_of(target)),
                ..label(reject.label, "")
            });
            if approval.state() != ApprovalState::Waiting {
                buttons.clear();
            }
            if approval.state() == ApprovalState::Rejected {
                let reopen = Button::new(Key::Reopen.action(), "", context);
                other = Some(reopen.with("task", &approval.task_name).markup());
            }
            plan = Some(approval.run_id.clone());
            let fields = consent::fields(&approval, key, sent);
            let task = context.link(&format!("tasks/{}", escape(&approval.task_name)));
            let run = context.link(&format!("runs/{}", escape(&approval.run_id)));
            (
                Facts::Consent {
                    approval,
                    task,
                    run,
                },
                fields,
            )
        }
        Key::ReleaseBrake => {
            let brake = answers::brake(context).await?;
            let (lost, of) = (brake.lost.to_string(), brake.of.to_string());
            let mut fields = vec![Field::hidden("lost", &lost), Field::hidden("of", &of)];
            fields.push(Field::typed(
                &[(lost, "the number of lost instances")],
                sent,
            ));
            if !brake.set {
                fields.clear();
                buttons.clear();
            }
            (Facts::Brake(brake), fields)
        }
        Key::Drain => (
            Facts::Drain(answers::worker(target, context).await?),
            Vec::new(),
        ),
        Key::Run
        | Key::Inspect
        | Key::Enable
        | Key::Disable
        | Key::PlanDestruction
        | Key::Reopen => {
            return Err(Refusal::not_found("There is no such page."));
        }
    };
    Ok(Confirmation {
        facts: Markup(facts.render().unwrap_or_default()),
        plan,
        other,
        form: Form {
            address: context.link(&action.path_of(target)),
            fields,
            buttons,
            missing: action.missing(context.viewer),
            refusal: None,
        },
    })
}

/// A place of a state in one line.
fn place(at: Option<&StateAt>) -> String {
    let Some(at) = at else {
        return "not read".to_owned();
    };
    let state = at.state.as_ref().map_or_else(
        || "no state".to_owned(),
        |state| format!("lineage {}, serial {}", state.lineage, state.serial),
    );
    format!("{}, workspace {}, {state}", at.backend, at.workspace)
}
