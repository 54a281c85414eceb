//! `cts approvals` without a running cts: consent in the database itself, and what a plan would need
//! (docs/cli.md#cts-approvals).

mod needed;

use std::pin::pin;
use std::sync::Arc;

use cts_cli::{
    ApprovalsCommand, Approve, Output, QueryOptions, TableWidth, consent_text, print, say,
};
use cts_proto::run::v1::approval_service_server::ApprovalService;
use cts_proto::run::v1::plan_service_server::PlanService;
use cts_proto::run::v1::{
    Approval, ApproveSetRequest, DecideApprovalRequest, GetApprovalRequest, GetPlanRequest,
    ListApprovalsRequest, ListApprovalsResponse, PlanData, ReopenApprovalRequest,
};
use cts_rpc::admission::CallContext;
use cts_runtime::ProcessEnv;
use cts_scheduler::local_consent;
use futures::StreamExt as _;
use serde_json::json;
use tonic::{Code, Request, Status};

use crate::commands::local_caller::local_caller;
use crate::commands::migrate::Source;
use crate::failure::Failure;

/// Runs the command and returns the exit code. May be run while cts works.
pub(crate) async fn run(
    command: ApprovalsCommand,
    process_env: &ProcessEnv,
) -> Result<u8, Failure> {
    let place = match &command {
        ApprovalsCommand::Test(test) => return needed::run(test, process_env).await,
        ApprovalsCommand::List { place, .. }
        | ApprovalsCommand::Show { place, .. }
        | ApprovalsCommand::Approve(Approve { place, .. })
        | ApprovalsCommand::Reject { place, .. }
        | ApprovalsCommand::Reopen { place, .. } => place,
    };
    let source = Source::named(&place.store, process_env)?;
    source
        .attached(process_env, async |store| {
            let (approvals, plans) = local_consent(store, Arc::clone(&process_env.clock));
            let caller = CallContext::of(local_caller(process_env));
            let services = Services {
                approvals,
                plans,
                caller,
            };
            services.execute(command).await.map(|()| 0)
        })
        .await
}

/// The services over the store, and who calls them.
struct Services<A, P> {
    approvals: A,
    plans: P,
    caller: CallContext,
}

impl<A: ApprovalService, P: PlanService> Services<A, P> {
    async fn execute(&self, command: ApprovalsCommand) -> Result<(), Failure> {
        match command {
            ApprovalsCommand::List { place, patterns } => {
                let listed = self.list(patterns, "").await.map_err(refused)?;
                listing(&listed, &place.query)
            }
            ApprovalsCommand::Show { place, id } => self.show(&id, &place.query).await,
            ApprovalsCommand::Approve(options) => {
                let output = options.place.query.output;
                if let Some(set) = options.set {
                    self.approve_set(options.id, set, options.comment, output)
                        .await
                } else {
                    let effect = options.effect.unwrap_or_default();
                    let decision = (effect, false, options.comment);
                    self.decide(&options.id, decision, output).await
                }
            }
            ApprovalsCommand::Reject {
                place,
                effect,
                comment,
                id,
            } => {
                let output = place.query.output;
                self.decide(&id, (effect, true, comment), output).await
            }
            ApprovalsCommand::Reopen { place, name } => {
                let request = self.request(ReopenApprovalRequest {
                    task_name: name.clone(),
                });
                let reopened = self.approvals.reopen_approval(request).await;
                let reopened = reopened.map_err(refused)?.into_inner().reopened;
                match place.query.output {
                    Output::Json => {
                        let document = json!({ "task": name, "reopened": reopened });
                        print(&format!("{document:#}\n"))?;
                    }
                    Output::Table => say(&format!("'{name}' runs and asks again")),
                }
                Ok(())
            }
            ApprovalsCommand::Test(_) => {
                let text = "a database alone cannot test a plan".to_owned();
                Err(Failure::Call(text))
            }
        }
    }

    /// A request of the caller.
    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.extensions_mut().insert(self.caller.clone());
        request
    }

    async fn list(&self, tasks: Vec<String>, set: &str) -> Result<ListApprovalsResponse, Status> {
        let request = self.request(ListApprovalsRequest {
            tasks,
            visible_tasks: Vec::new(),
            set: set.to_owned(),
        });
        Ok(self.approvals.list_approvals(request).await?.into_inner())
    }

    /// The id of the only run with an effect whose id begins with this text; the text itself if there is no such run.
    async fn run_id(&self, beginning: &str) -> Result<String, Failure> {
        let listed = self.list(Vec::new(), "").await.map_err(refused)?;
        let runs = listed.approvals.into_iter().map(|approval| approval.run_id);
        let mut runs: Vec<String> = runs.filter(|run| run.starts_with(beginning)).collect();
        runs.sort();
        runs.dedup();
        match &*runs {
            [] => Ok(beginning.to_owned()),
            [run] => Ok(run.clone()),
            several => Err(Failure::Call(format!(
                "'{beginning}' is the beginning of {} runs: {}",
                several.len(),
                several.join(", ")
            ))),
        }
    }

    async fn show(&self, id: &str, query: &QueryOptions) -> Result<(), Failure> {
        let id = self.run_id(id).await?;
        let request = self.request(GetApprovalRequest { run_id: id.clone() });
        let shown = self
            .approvals
            .get_approval(request)
            .await
            .map_err(refused)?;
        let approval = shown.into_inner().approval.unwrap_or_default();
        let plan = match self.plan(&id).await {
            Ok(plan) => Some(plan),
            Err(status) if status.code() == Code::NotFound => None,
            Err(status) => return Err(refused(status)),
        };
        print(&match query.output {
            Output::Json => consent_text::document(&approval, plan.as_ref()),
            Output::Table => consent_text::shown(&approval, plan.as_ref()),
        })?;
        Ok(())
    }

    /// The plan of a run, of its parts.
    async fn plan(&self, id: &str) -> Result<PlanData, Status> {
        let request = self.request(GetPlanRequest {
            run_id: id.to_owned(),
            without_values: false,
        });
        let parts = self.plans.get_plan(request).await?.into_inner();
        let mut parts = pin!(parts);
        let mut plan: Option<PlanData> = None;
        while let Some(part) = parts.next().await {
            let part = part?.part.unwrap_or_default();
            match &mut plan {
                None => plan = Some(part),
                Some(plan) => {
                    plan.changes.extend(part.changes);
                    plan.outputs.extend(part.outputs);
                    plan.invocations.extend(part.invocations);
                    plan.deferred.extend(part.deferred);
                }
            }
        }
        plan.ok_or_else(|| Status::not_found("the run has no plan"))
    }

    async fn decide(
        &self,
        id: &str,
        (effect, reject, comment): (String, bool, String),
        output: Output,
    ) -> Result<(), Failure> {
        let request = self.request(DecideApprovalRequest {
            run_id: self.run_id(id).await?,
            effect,
            reject,
            comment,
        });
        let decided = self
            .approvals
            .decide_approval(request)
            .await
            .map_err(refused)?;
        let approval = decided.into_inner().approval.unwrap_or_default();
        say(&consent_text::decided(&approval, reject));
        if let Output::Json = output {
            print(&format!("{:#}\n", json!(approval)))?;
        }
        Ok(())
    }

    async fn approve_set(
        &self,
        pattern: String,
        set: String,
        comment: String,
        output: Output,
    ) -> Result<(), Failure> {
        let tasks = vec![pattern];
        let request = self.request(ApproveSetRequest {
            tasks: tasks.clone(),
            visible_tasks: Vec::new(),
            set: set.clone(),
            comment,
        });
        let approvals: Vec<Approval> = match self.approvals.approve_set(request).await {
            Ok(approved) => approved.into_inner().approvals,
            Err(status) if status.code() == Code::Aborted => {
                let present = self.list(tasks, &set).await.map_err(refused)?;
                let lists = [&*present.came, &*present.went, &*present.changed];
                say("nothing is approved, because the set is a different one");
                for line in consent_text::differences(lists) {
                    say(&line);
                }
                say("It is now:");
                say(table(&present, TableWidth::Whole).trim_end());
                return Err(refused(status));
            }
            Err(status) => return Err(refused(status)),
        };
        match output {
            Output::Json => print(&format!("{:#}\n", json!({ "approvals": approvals })))?,
            Output::Table => say(&consent_text::approved(approvals.iter())),
        }
        Ok(())
    }
}

fn listing(listed: &ListApprovalsResponse, query: &QueryOptions) -> Result<(), Failure> {
    match query.output {
        Output::Json => {
            let document = json!({ "approvals": listed.approvals, "set": listed.set });
            print(&format!("{document:#}\n"))?;
        }
        Output::Table if listed.approvals.is_empty() => say("Nothing waits for consent."),
        Output::Table => print(&table(listed, query.wide.width()))?,
    }
    Ok(())
}

fn table(listed: &ListApprovalsResponse, width: TableWidth) -> String {
    consent_text::listing(listed.approvals.iter(), &listed.set, str::to_owned, width)
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` calls it")]
fn refused(status: Status) -> Failure {
    Failure::Call(status.message().to_owned())
}
