//! Configurations that are not in force, and settings that members do not have in common, in the log of each
//! member that they concern and of the leader.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use cts_core::{Chain, ConfigurationFingerprint, Incarnation, Verdict};
use cts_store::{
    APPROVALS, ConfigurationInForce, FLEET_MAX_SHRINK, MemberConfiguration, StoreError,
};
use tokio::time::{Instant, sleep};

use super::file_tasks::{FileTasks, State};
use super::{
    LONGEST_POLL, OwnConfiguration, POLL, approvals_text, brake_text, has_approvals_in_force,
    has_brake_in_force, list_differences,
};
use crate::notifier::Notifier;

/// Time between two log lines about a condition that lasts.
const AGAIN: Duration = Duration::from_hours(1);

/// Differences that were logged, so that each difference is logged once.
#[derive(Debug, Default)]
struct LastLogged {
    /// Configurations that are not in force: the member and the number of the one that is, and when that was
    /// logged.
    not_in_force: HashMap<(Incarnation, u64), Instant>,
    settings: HashSet<Incarnation>,
}

/// Watches for ever. While it is not certain whether the configuration of this member takes effect, the member registers
/// it again.
pub(crate) async fn watch(files: FileTasks, notifier: &Notifier) {
    let mut logged = LastLogged::default();
    let mut seen: Option<(String, Instant)> = None;
    let mut written = notifier.writes();
    loop {
        written.mark_unchanged();
        let pause = {
            let mut state = files.state().await;
            if state.is_open {
                register(&mut state).await;
            }
            compare_if_new(&state, &mut logged, &mut seen).await;
            if state.is_open {
                state.own.pause()
            } else if seen.is_none() {
                POLL
            } else {
                notifier.poll(POLL).min(LONGEST_POLL)
            }
        };
        tokio::select! {
            () = sleep(pause) => {}
            Ok(()) = written.changed() => {}
        }
    }
}

async fn register(state: &mut State) {
    match state.own.register().await {
        Ok(registered) => {
            state.is_open = registered.verdict == Verdict::Open;
            if !state.is_open
                && state.is_start
                && let Err(error) = state.own.retry_failed_now().await
            {
                cts_store::log_store_failure!(warn, &error, target: "ctrl", error = %Chain(&error), "failed tasks are not tried again before their time");
            }
        }
        Err(error) => tracing::debug!(error = %Chain(&error), "cannot register"),
    }
}

async fn compare_if_new(
    state: &State,
    logged: &mut LastLogged,
    seen: &mut Option<(String, Instant)>,
) {
    let version = match state.own.store.configuration_version().await {
        Ok(version) => version,
        Err(error) => return not_compared(&error),
    };
    let is_new = seen
        .as_ref()
        .is_none_or(|(before, at)| *before != version || at.elapsed() >= AGAIN);
    if !is_new || state.is_open {
        return;
    }
    match compare(&state.own, logged).await {
        Ok(()) => *seen = Some((version, Instant::now())),
        Err(error) => not_compared(&error),
    }
}

fn not_compared(error: &StoreError) {
    tracing::debug!(error = %Chain(error), "configurations are not compared");
}

async fn compare(own: &OwnConfiguration, logged: &mut LastLogged) -> Result<(), StoreError> {
    let Some(in_force) = own.store.configuration_in_force().await? else {
        return Ok(());
    };
    let members = own.store.members(own.time_to_live).await?;
    let leads = members
        .iter()
        .any(|state| state.leader && state.member.incarnation == own.member.incarnation);
    let configuration = &own.configuration;
    let id = (own.member.id.as_str(), own.member.incarnation);
    let (fingerprint, settings) = (&configuration.fingerprint, &configuration.settings);
    logged.compare(id, (fingerprint, settings), &in_force);
    for other in own.store.configurations(own.time_to_live).await? {
        if other.incarnation == own.member.incarnation {
            continue;
        }
        if leads {
            let id = (other.id.as_str(), other.incarnation);
            logged.compare(id, (&other.fingerprint, &other.settings), &in_force);
        }
        logged.compare_settings(settings, &other);
    }
    Ok(())
}

impl LastLogged {
    fn compare(
        &mut self,
        (id, incarnation): (&str, Incarnation),
        (fingerprint, settings): (&ConfigurationFingerprint, &BTreeMap<String, String>),
        in_force: &ConfigurationInForce,
    ) {
        let differences = fingerprint.differences(&in_force.fingerprint);
        let brakes_differ = !has_brake_in_force(settings, in_force);
        let approvals_differ = !has_approvals_in_force(settings, in_force);
        let key = (incarnation, in_force.number);
        let was_logged = self.not_in_force.get(&key);
        if differences.is_empty() && !brakes_differ && !approvals_differ
            || was_logged.is_some_and(|at| at.elapsed() < AGAIN)
        {
            return;
        }
        let since = in_force.decided_at.to_rfc3339();
        if !differences.is_empty() {
            tracing::warn!(
                target: "ha.compat",
                member = id,
                tasks = list_differences(&differences),
                in_force_since = since,
                decided_by = in_force.decided_by,
                "the task blocks of a member are not in force: they take effect when all members have started with the same"
            );
        }
        if brakes_differ {
            tracing::warn!(
                target: "ha.compat",
                member = id,
                fleet_max_shrink = settings.get(FLEET_MAX_SHRINK).map_or("off", String::as_str),
                in_force = brake_text(in_force.fleet_max_shrink).as_deref().unwrap_or("off"),
                in_force_since = since,
                decided_by = in_force.decided_by,
                "the brake of the fleet of a member is not in force: it takes effect when all members have started with the same"
            );
        }
        if approvals_differ {
            tracing::warn!(
                target: "ha.compat",
                member = id,
                approval = settings.get(APPROVALS).map_or("never", String::as_str),
                in_force = approvals_text(in_force.approvals).as_deref().unwrap_or("never"),
                in_force_since = since,
                decided_by = in_force.decided_by,
                "the default rule of approval of a member is not in force: it takes effect when all members have started with the same"
            );
        }
        self.not_in_force.insert(key, Instant::now());
    }

    fn compare_settings(&mut self, own: &BTreeMap<String, String>, other: &MemberConfiguration) {
        if !self.settings.insert(other.incarnation) {
            return;
        }
        let names: BTreeSet<&String> = own.keys().chain(other.settings.keys()).collect();
        for name in names {
            let (this, that) = (own.get(name), other.settings.get(name));
            if this != that {
                tracing::warn!(
                    target: "ha.compat",
                    setting = name,
                    this_member = this.map_or("none", String::as_str),
                    other_member = that.map_or("none", String::as_str),
                    member = other.id,
                    "members of the cluster have different settings"
                );
            }
        }
    }
}
