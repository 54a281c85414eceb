//! Effects that wait for a decision.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cts_core::TaskName;
use cts_proto::run::v1::ApprovalState;
use cts_store::Approval;

/// The effects that wait for a decision, by the names of their tasks: of each task the newest, if possible one that the
/// data of the task need.
pub(crate) fn waiting(approvals: &[Approval]) -> Vec<&Approval> {
    let order = |approval: &Approval| (approval.gone_at.is_none(), approval.asked_at);
    let waiting = approvals.iter();
    let waiting = waiting.filter(|approval| approval.state == ApprovalState::Waiting);
    let mut newest: BTreeMap<&TaskName, &Approval> = BTreeMap::new();
    for approval in waiting {
        let known = newest.entry(&approval.task).or_insert(approval);
        if order(approval) > order(known) {
            *known = approval;
        }
    }
    newest.into_values().collect()
}

/// Since when the oldest of these effects waits.
pub(crate) fn oldest(waiting: &[&Approval]) -> Option<DateTime<Utc>> {
    waiting.iter().map(|approval| approval.asked_at).min()
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use cts_core::RunId;
    use cts_store::PlanSummary;
    use uuid::Uuid;

    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_770_110_130, 0).unwrap() + TimeDelta::seconds(seconds)
    }

    fn approval(task: &str, effect: &str, asked: i64) -> Approval {
        Approval {
            task: task.parse().unwrap(),
            effect: effect.into(),
            run: RunId::from_uuid(Uuid::from_u128(1)),
            state: ApprovalState::Waiting,
            summary: PlanSummary::default(),
            asked_at: at(asked),
            gone_at: None,
            decided: None,
            requested_by: None,
            cause: None,
        }
    }

    #[test]
    fn one_effect_of_each_task_waits_in_the_order_of_names() {
        let gone = Approval {
            gone_at: Some(at(9)),
            ..approval("web", "gone", 5)
        };
        let approved = Approval {
            state: ApprovalState::Approved,
            ..approval("web", "approved", 6)
        };
        let all = [
            approval("web", "old", 1),
            gone,
            approved,
            approval("web", "new", 3),
            approval("api", "a", 1),
        ];
        let effects = |approvals: &[Approval]| {
            let waiting = waiting(approvals);
            waiting
                .iter()
                .map(|it| it.effect.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(effects(&all), ["a", "new"]);
        assert_eq!(effects(&all[1..3]), ["gone"]);
        assert_eq!(oldest(&waiting(&all)), Some(at(1)));
        assert_eq!(oldest(&waiting(&[])), None);
    }
}
