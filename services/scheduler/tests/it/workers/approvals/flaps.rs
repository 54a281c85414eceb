//! A service that flaps, with an equal destruction at each loss.

use std::time::Duration;

use cts_core::ApprovalRule;
use cts_proto::run::v1::{Approval, PermitDecision, PlannedAction};

use super::requests::{Timed, timed};
use super::{BLUE, RED, approve, asks, begins_to_wait, destroys, list, plan, ruled};
use crate::setup::{Setup, instance};

/// Length of a loss, and of the time between two losses.
const HALF: Duration = Duration::from_secs(5);

/// Losses in ten minutes.
const LOSSES: u32 = 60;

/// The loss after which the effect is approved while the data do not need it.
const APPROVED: u32 = 30;

/// The only effect, once it is gone or needed.
async fn effect(setup: &Setup, is_gone: bool) -> Approval {
    setup
        .until(async |setup| {
            let effects = list(setup).await.approvals;
            let mut effects = effects.into_iter();
            effects.find(|it| it.gone_at.is_some() == is_gone)
        })
        .await
}

#[tokio::test]
async fn a_flapping_service_is_planned_once_for_each_question() {
    let Timed {
        setup,
        clock,
        _directory,
    } = timed(vec![ruled("t", ApprovalRule::Destroy)]).await;
    let full = || setup.watcher.show(vec![instance("w", 1)]);
    let loss = || setup.watcher.show(vec![instance("w", 2)]);
    let made = async || {
        let lease = setup.acquired().await;
        let creates = plan(BLUE, PlannedAction::Create);
        assert_eq!(
            asks(&setup, &lease, &creates).await,
            PermitDecision::Permitted
        );
        setup.applied(&lease).await;
    };
    full();
    made().await;
    loss();
    let mut waiting = begins_to_wait(&setup, &destroys(RED)).await;
    let mut asked_at = vec![effect(&setup, false).await.asked_at];
    for number in 1..=LOSSES {
        let now = effect(&setup, false).await;
        assert_eq!(now.run_id, waiting.run_id, "{number}");
        assert_eq!(Some(&now.asked_at), asked_at.last(), "{number}");
        let nothing = setup.acquire(Duration::from_millis(1)).await;
        assert_eq!(nothing, None, "{number}");
        clock.advance(HALF);
        full();
        effect(&setup, true).await;
        let nothing = setup.acquire(Duration::from_millis(1)).await;
        assert_eq!(nothing, None, "{number}");
        if number == APPROVED {
            approve(&setup, &waiting, RED).await;
        }
        clock.advance(HALF);
        loss();
        if number == APPROVED {
            let lease = setup.acquired().await;
            assert_eq!(lease.run_id, waiting.run_id);
            let decision = asks(&setup, &lease, &destroys(RED)).await;
            assert_eq!(decision, PermitDecision::Permitted);
            setup.applied(&lease).await;
            full();
            made().await;
            loss();
            waiting = begins_to_wait(&setup, &destroys(RED)).await;
            asked_at.push(effect(&setup, false).await.asked_at);
        }
    }
    assert_ne!(asked_at[0], asked_at[1]);
}
