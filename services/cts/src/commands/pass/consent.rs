//! Tasks of a pass that wait for the consent of a person (docs/runs.md#consent).

use cts_proto::run::v1::approval_service_client::ApprovalServiceClient;
use cts_proto::run::v1::{Approval, ApprovalState, GetApprovalRequest, ListApprovalsRequest};
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::tally::Tally;
use crate::failure::Failure;

/// Tasks that the end of a pass names.
const NAMED: usize = 20;

/// Asks the scheduler about the consent to effects.
#[derive(Debug)]
pub(super) struct ConsentClient {
    approvals: ApprovalServiceClient<Channel>,
}

impl ConsentClient {
    pub(super) fn new(scheduler: Channel) -> Self {
        Self {
            approvals: ApprovalServiceClient::new(scheduler)
                .max_decoding_message_size(cts_rpc::TASK_BYTES),
        }
    }

    /// The effects that wait for a decision.
    pub(super) async fn waiting(&mut self) -> Result<Vec<Approval>, Status> {
        let request = ListApprovalsRequest::default();
        let answer = self.approvals.list_approvals(request).await?;
        let mut approvals = answer.into_inner().approvals;
        approvals.retain(|approval| approval.state() == ApprovalState::Waiting);
        Ok(approvals)
    }

    /// Whether the newest effect of a run waits for a decision.
    pub(super) async fn is_awaited(&mut self, run: &str) -> Result<bool, Status> {
        let request = GetApprovalRequest {
            run_id: run.to_owned(),
        };
        match self.approvals.get_approval(request).await {
            Ok(answer) => {
                let approval = answer.into_inner().approval;
                Ok(approval.is_some_and(|it| it.state() == ApprovalState::Waiting))
            }
            Err(status) if status.code() == Code::NotFound => Ok(false),
            Err(status) => Err(status),
        }
    }
}

/// Why a pass ends although tasks wait; `None` if no task does.
pub(super) fn failure(tally: &Tally) -> Option<Failure> {
    let counts = tally.counts();
    if counts.unapproved == 0 {
        return None;
    }
    let named = tally.unapproved().take(NAMED);
    let named: Vec<String> = named
        .map(|(task, run)| format!("{task} (run {run})"))
        .collect();
    let more = match counts.unapproved - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(Failure::Unapproved {
        waiting: counts.unapproved,
        tasks: tally.len(),
        named: format!("{}{more}", named.join(", ")),
        failed: counts.failed,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tally::{End, Stage};
    use super::*;

    #[test]
    fn a_pass_with_waiting_tasks_names_them_and_has_its_own_exit_code() {
        let tasks: Vec<String> = (10..33).map(|number| format!("t{number}")).collect();
        let mut tally = Tally::new(tasks.clone());
        for task in &tasks {
            tally.requested(task, "r".to_owned());
        }
        tally.moved("t10", "r", Stage::Ended(End::Failed("no".into())));
        assert!(failure(&tally).is_none());
        tally.moved("t11", "r", Stage::Ended(End::Waits("r".into())));
        let one = failure(&tally).unwrap();
        assert_eq!(
            one.to_string(),
            "1 of 23 tasks wait for the consent of a person: t11 (run r); the next start finds them, and \
             `cts approvals list` shows what they would do; 1 failed"
        );
        assert_eq!(one.exit_code(), cts_cli::EXIT_CONSENT);
        for task in &tasks {
            tally.moved(task, "r", Stage::Ended(End::Waits("r".into())));
        }
        let many = failure(&tally).unwrap().to_string();
        assert!(many.contains("t30 (run r) and 2 more"), "{many}");
    }
}
