//! The brake of the fleet in the rounds of the leader.

use chrono::SubsecRound as _;
use cts_core::{Chain, excerpt};
use cts_store::LeaderError;
use tokio::time::Instant;

use super::{LeaderLoop, STORE_RETRY};
use crate::leader::fleet_brake::{BrakeChange, FleetBrake, Noted};

/// Losses in the log.
const LOSSES_LOGGED: usize = 5;

/// Characters of the losses in the log.
const TEXT_LOGGED: usize = 400;

impl LeaderLoop {
    /// Judges the numbers of the fleet before anything is queued, and notes them. Returns false if nothing may be
    /// queued, because they could not be noted.
    pub(super) async fn judge_brake(&mut self) -> bool {
        let Some(mut brake) = self.brake.take() else {
            return true;
        };
        let judged = self.judge(&mut brake).await;
        for request in &mut self.unsaved {
            if let Some(guarded) = &mut request.guarded {
                guarded.brake = brake.reference(&guarded.counts);
            }
        }
        self.brake = Some(brake);
        judged
    }

    async fn judge(&mut self, brake: &mut FleetBrake) -> bool {
        let Some(epoch) = self.term.epoch() else {
            return false;
        };
        let store = &*self.context.store;
        loop {
            // As exact as the store.
            let at = self.context.clock.now().trunc_subsecs(6);
            if let Err(error) = brake.forget_old(store, &self.planner, at).await {
                cts_store::log_store_failure!(warn, &error, error = %Chain(&error), "cannot see which numbers of instances are applied, trying again");
            }
            brake.observe(&mut self.planner, at);
            match brake.note(store, epoch).await {
                Ok(Noted::Released) => {
                    tracing::info!(target: "ctrl", "the brake of the fleet is released");
                }
                Ok(Noted::Nothing) => return true,
                Ok(Noted::Done {
                    change,
                    held_tasks,
                    leased_runs,
                    to_confirm,
                }) => {
                    if let Some(change) = change {
                        self.report_brake(brake, &change, (held_tasks, leased_runs, to_confirm));
                    }
                    return true;
                }
                Err(LeaderError::Deposed { .. }) => {
                    self.term.end(epoch);
                    return false;
                }
                Err(LeaderError::Store(error)) => {
                    cts_store::log_store_failure!(error, &error, error = %Chain(&error), "cannot note the numbers of the fleet, trying again");
                    self.term.end(epoch);
                    self.not_before = Some(Instant::now() + STORE_RETRY);
                    return false;
                }
            }
        }
    }

    fn report_brake(
        &self,
        brake: &FleetBrake,
        change: &BrakeChange,
        (held_tasks, leased_runs, to_confirm): (usize, usize, usize),
    ) {
        let fleet = brake.noted_fleet();
        let (lost, of) = (fleet.lost, fleet.of);
        match change {
            BrakeChange::Set => {
                let losses = fleet.losses().into_iter().take(LOSSES_LOGGED).map(|loss| {
                    let at = match &*loss.datacenter {
                        "" => String::new(),
                        datacenter => format!(" in {datacenter}"),
                    };
                    format!("{}{at} {} of {}", loss.service, loss.now, loss.before)
                });
                let losses = losses.collect::<Vec<_>>().join("; ");
                let losses = excerpt(&losses, TEXT_LOGGED);
                tracing::warn!(target: "ctrl", lost, of, limit = fleet.limit(), losses, held_tasks, leased_runs, to_confirm, "the brake of the fleet is set: runs that take instances away wait until they are back or until `cts task release -all`");
            }
            BrakeChange::Ended => {
                tracing::warn!(target: "ctrl", lost, of, "the brake of the fleet has ended, because enough instances are back");
            }
        }
        self.context.notifier.brake_changed();
    }
}
