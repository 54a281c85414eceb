//! Values about the configurations of members, and about the configuration in force.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cts_core::brake::FleetMaxShrink;
use cts_core::{
    ApprovalDefaults, ConfigurationFingerprint, Incarnation, OtherMember, TaskSpec, Verdict,
    complete_modules, judge,
};

/// The part of its files that a member registers when it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// Task blocks in the order of the files, with the content of their modules.
    pub tasks: Vec<TaskSpec>,
    /// Fingerprint by which the task blocks are compared.
    pub fingerprint: ConfigurationFingerprint,
    /// Other settings that the members of a cluster should share, by name; without secrets.
    pub settings: BTreeMap<String, String>,
    /// The brake of the fleet. Members compare it by its text in `settings`; it is not read back from there.
    pub fleet_max_shrink: Option<FleetMaxShrink>,
    /// Rule of approval and its time for tasks without their own; like the brake.
    pub approvals: ApprovalDefaults,
}

/// Name of the text of the brake of the fleet among the [settings](Configuration::settings).
pub const FLEET_MAX_SHRINK: &str = "fleet_max_shrink";

/// Name of the text of the rule of approval among the [settings](Configuration::settings).
pub const APPROVALS: &str = "approval";

impl Configuration {
    /// Decodes a stored configuration from its JSON columns. `None` if a column is empty, or if a program with a
    /// different definition of a task wrote it.
    pub fn understood(
        fingerprint: Option<&str>,
        tasks: Option<&str>,
        settings: Option<&str>,
    ) -> Option<Self> {
        Some(Self {
            fingerprint: serde_json::from_str(fingerprint?).ok()?,
            tasks: serde_json::from_str(tasks?).ok()?,
            settings: serde_json::from_str(settings?).ok()?,
            fleet_max_shrink: None,
            approvals: ApprovalDefaults::default(),
        })
    }

    /// Whether the part of this configuration that takes effect with others is the same.
    fn agrees_with(&self, other: &Self) -> bool {
        let shared =
            |it: &Self| [FLEET_MAX_SHRINK, APPROVALS].map(|name| it.settings.get(name).cloned());
        self.fingerprint.agrees_with(&other.fingerprint) && shared(self) == shared(other)
    }
}

/// The configuration of a recently seen member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberConfiguration {
    /// Id of the member.
    pub id: String,
    /// The incarnation that registered it.
    pub incarnation: Incarnation,
    /// Fingerprint by which its task blocks are compared.
    pub fingerprint: ConfigurationFingerprint,
    /// Its other settings.
    pub settings: BTreeMap<String, String>,
    /// Time at which the member started or last read its files again.
    pub registered_at: DateTime<Utc>,
}

/// The task blocks that took effect last.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigurationInForce {
    /// Increases by one with every decision.
    pub number: u64,
    /// The task blocks. A leader [brings them into the tasks](crate::Store::replace_config_tasks).
    pub tasks: Vec<TaskSpec>,
    /// Fingerprint by which the task blocks are compared.
    pub fingerprint: ConfigurationFingerprint,
    /// The brake of the fleet.
    pub fleet_max_shrink: Option<FleetMaxShrink>,
    /// Rule of approval and its time for tasks without their own.
    pub approvals: ApprovalDefaults,
    /// Id of the member whose start decided the configuration, or `cts config apply` with its machine.
    pub decided_by: String,
    /// Time of the decision.
    pub decided_at: DateTime<Utc>,
}

/// A configuration to put in force, whatever configurations the members have ([`Store::put_in_force`]).
///
/// API changes and deletions of the tasks in this configuration end: these tasks become as declared when a leader
/// [brings it in](crate::Store::replace_config_tasks).
///
/// [`Store::put_in_force`]: crate::Store::put_in_force
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedConfiguration {
    /// The configuration.
    pub configuration: Configuration,
    /// Origin of the decision, as in the configuration in force.
    pub decided_by: String,
    /// Number of the configuration that this one replaces; zero for none.
    pub number: u64,
    /// Whether API tasks that are missing in the configuration count as configured, so that they are removed too.
    pub prune: bool,
}

impl AppliedConfiguration {
    /// Returns the configuration that replaces `in_force`, or `None` if `in_force` does not have the expected number.
    ///
    /// The content of modules that are missing on the deciding machine is taken from `in_force`, if available.
    pub fn completed(
        &self,
        in_force: Option<&ConfigurationInForce>,
    ) -> Result<Option<Configuration>, serde_json::Error> {
        if in_force.map_or(0, |in_force| in_force.number) != self.number {
            return Ok(None);
        }
        let mut completed = self.configuration.clone();
        if let Some(in_force) = in_force {
            complete_modules(&mut completed.tasks, &in_force.tasks)?;
            completed.fingerprint = ConfigurationFingerprint::of(&completed.tasks)?;
        }
        Ok(Some(completed))
    }
}

/// Result of registering a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registered {
    /// The verdict.
    pub verdict: Verdict,
    /// Number of the configuration in force; zero without one.
    pub number: u64,
}

/// A different member, as stored when a member registers.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherConfiguration {
    /// The configuration that the member registered, if this program can decode it.
    pub configuration: Option<Configuration>,
    /// Whether the member was seen after the calling member registered.
    pub seen_since: bool,
}

/// Decides about the configuration `own`, and returns the configuration to put in force, if any. `waited` is set when
/// the time has passed after which members that were not seen count as dead.
pub fn decide(
    own: &Configuration,
    in_force: Option<&ConfigurationInForce>,
    others: &[OtherConfiguration],
    waited: bool,
) -> Result<(Verdict, Option<Configuration>), serde_json::Error> {
    let members: Vec<OtherMember> = others
        .iter()
        .map(|other| OtherMember {
            agrees: other
                .configuration
                .as_ref()
                .map(|other| own.agrees_with(other)),
            seen_since: other.seen_since,
        })
        .collect();
    let is_in_force = in_force.is_some_and(|in_force| {
        in_force.fingerprint.agrees_with(&own.fingerprint)
            && in_force.fleet_max_shrink == own.fleet_max_shrink
            && in_force.approvals == own.approvals
    });
    let verdict = judge(&members, waited);
    if verdict != Verdict::TakesEffect {
        let verdict = if is_in_force {
            Verdict::TakesEffect
        } else {
            verdict
        };
        return Ok((verdict, None));
    }
    if is_in_force && !others.is_empty() {
        return Ok((verdict, None));
    }
    let mut tasks = own.tasks.clone();
    for other in others
        .iter()
        .filter_map(|other| other.configuration.as_ref())
    {
        complete_modules(&mut tasks, &other.tasks)?;
    }
    if let Some(in_force) = in_force {
        complete_modules(&mut tasks, &in_force.tasks)?;
        if in_force.tasks == tasks
            && in_force.fleet_max_shrink == own.fleet_max_shrink
            && in_force.approvals == own.approvals
        {
            return Ok((verdict, None));
        }
    }
    let fingerprint = ConfigurationFingerprint::of(&tasks)?;
    let decided = Configuration {
        tasks,
        fingerprint,
        settings: own.settings.clone(),
        fleet_max_shrink: own.fleet_max_shrink,
        approvals: own.approvals,
    };
    Ok((verdict, Some(decided)))
}
