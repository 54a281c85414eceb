//! Values about the configurations of members, and the one in force.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cts_core::{
    ConfigurationFingerprint, Incarnation, OtherMember, TaskSpec, Verdict, complete_modules, judge,
};

/// What a member registers of its files when it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// Task blocks in the order of the files, with their modules found out.
    pub tasks: Vec<TaskSpec>,
    /// What they are compared by.
    pub fingerprint: ConfigurationFingerprint,
    /// Other settings that the members of a cluster should have in common, by name; without secrets.
    pub settings: BTreeMap<String, String>,
}

impl Configuration {
    /// What a store holds of it as JSON; `None` if that is missing, or of a program that knew tasks
    /// differently.
    pub fn understood(
        fingerprint: Option<&str>,
        tasks: Option<&str>,
        settings: Option<&str>,
    ) -> Option<Self> {
        Some(Self {
            fingerprint: serde_json::from_str(fingerprint?).ok()?,
            tasks: serde_json::from_str(tasks?).ok()?,
            settings: serde_json::from_str(settings?).ok()?,
        })
    }
}

/// The configuration of a member that was seen lately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberConfiguration {
    /// Id of the member.
    pub id: String,
    /// The life that has registered it.
    pub incarnation: Incarnation,
    /// What its task blocks are compared by.
    pub fingerprint: ConfigurationFingerprint,
    /// Its other settings.
    pub settings: BTreeMap<String, String>,
    /// When it has started.
    pub registered_at: DateTime<Utc>,
}

/// The task blocks that took effect last.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigurationInForce {
    /// Increases by one with every decision.
    pub number: u64,
    /// The task blocks. A leader [brings them into the tasks](crate::Store::replace_config_tasks).
    pub tasks: Vec<TaskSpec>,
    /// What they are compared by.
    pub fingerprint: ConfigurationFingerprint,
    /// Id of the member whose start has decided it, or `cts config apply` with its machine.
    pub decided_by: String,
    /// When.
    pub decided_at: DateTime<Utc>,
}

/// A configuration that is to be in force, whatever those of the members are ([`Store::put_in_force`]).
///
/// What the API has changed or deleted of the tasks that it names lasts no longer: they become what is declared when
/// a leader [brings it in](crate::Store::replace_config_tasks).
///
/// [`Store::put_in_force`]: crate::Store::put_in_force
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedConfiguration {
    /// It.
    pub configuration: Configuration,
    /// Who has decided it.
    pub decided_by: String,
    /// Number of the one that it takes the place of; zero for none.
    pub number: u64,
    /// Whether tasks of the API that it does not name count as configured, so that they go then too.
    pub prune: bool,
}

impl AppliedConfiguration {
    /// What is put in force in the place of `in_force`: with the content of modules that are not on the machine of
    /// who has decided, where that one knows it. `None` if it is another one than the one that was meant.
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

/// What became of a configuration when it was registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registered {
    /// What was decided.
    pub verdict: Verdict,
    /// Number of the configuration in force; zero if there is none.
    pub number: u64,
}

/// Another member, as a store finds it when one registers.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherConfiguration {
    /// What it has registered, if anything that this program understands.
    pub configuration: Option<Configuration>,
    /// It was seen since the one that asks has registered.
    pub seen_since: bool,
}

/// Decides what becomes of `own`, and what is to be put in force, if anything. `waited` is set when the time has
/// passed after which members that were not seen count as dead.
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
                .map(|other| own.fingerprint.agrees_with(&other.fingerprint)),
            seen_since: other.seen_since,
        })
        .collect();
    let is_in_force =
        in_force.is_some_and(|in_force| in_force.fingerprint.agrees_with(&own.fingerprint));
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
        if in_force.tasks == tasks {
            return Ok((verdict, None));
        }
    }
    let fingerprint = ConfigurationFingerprint::of(&tasks)?;
    let decided = Configuration {
        tasks,
        fingerprint,
        settings: own.settings.clone(),
    };
    Ok((verdict, Some(decided)))
}
