//! The numbers of the brake as they are stored.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{FleetMaxShrink, Pair};
use crate::run::losses::InstanceCounts;
use crate::view::ViewId;
use crate::words::identity::{RunId, TaskName};

/// The numbers of the fleet as the leader has noted them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NotedFleet {
    /// The setting; `None` while the brake is off.
    #[serde(default)]
    pub setting: Option<FleetMaxShrink>,
    /// Since when the brake is set; `None` while it is not.
    #[serde(default)]
    pub set_at: Option<DateTime<Utc>>,
    /// Instances that are lost.
    #[serde(default)]
    pub lost: u64,
    /// Instances of the reference.
    #[serde(default)]
    pub of: u64,
    /// Pairs whose reference is not their present number.
    #[serde(default)]
    pub pairs: Vec<NotedPair>,
    /// Runs that were leased when the brake was set and take instances away; the store finds them.
    #[serde(default)]
    pub leased: Vec<BrakedRun>,
}

/// The numbers of one service in one view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedPair {
    /// The view.
    pub view: ViewId,
    /// Datacenter of the view; empty for that of the agent.
    pub datacenter: String,
    /// The service.
    pub service: String,
    /// Its instances.
    #[serde(flatten)]
    pub pair: Pair,
}

/// A run that was leased when the brake was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrakedRun {
    /// Its task.
    pub task: TaskName,
    /// The run.
    pub run: RunId,
    /// Address of its remote run, if any.
    #[serde(default)]
    pub address: Option<String>,
    /// Whether its remote run waits for a confirmation.
    #[serde(default)]
    pub to_confirm: bool,
}

/// Instances that a service has lost in one datacenter, in the view that shows most of the loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetLoss {
    /// The service.
    pub service: String,
    /// Its datacenter; empty for that of the agent.
    pub datacenter: String,
    /// Instances of the reference.
    pub before: u32,
    /// Instances now.
    pub now: u32,
}

impl FleetLoss {
    /// Number of lost instances.
    pub fn lost(&self) -> u32 {
        self.before.saturating_sub(self.now)
    }
}

impl NotedFleet {
    /// Whether the brake is set.
    pub fn is_set(&self) -> bool {
        self.set_at.is_some()
    }

    /// Most instances that may be lost; 0 while the brake is off.
    pub fn limit(&self) -> u64 {
        self.setting.map_or(0, |setting| setting.limit(self.of))
    }

    /// The reference of the pairs that have lost instances.
    pub fn reference(&self) -> InstanceCounts {
        let mut views: BTreeMap<ViewId, BTreeMap<String, u32>> = BTreeMap::new();
        for noted in self.pairs.iter().filter(|noted| noted.pair.lost() > 0) {
            let services = views.entry(noted.view.clone()).or_default();
            services.insert(noted.service.clone(), noted.pair.reference());
        }
        views.into_iter().collect()
    }

    /// The losses by service and datacenter, the largest first.
    pub fn losses(&self) -> Vec<FleetLoss> {
        let mut losses: BTreeMap<(&str, &str), FleetLoss> = BTreeMap::new();
        for noted in self.pairs.iter().filter(|noted| noted.pair.lost() > 0) {
            let loss = FleetLoss {
                service: noted.service.clone(),
                datacenter: noted.datacenter.clone(),
                before: noted.pair.reference(),
                now: noted.pair.now,
            };
            let key = (&*noted.service, &*noted.datacenter);
            let largest = losses.entry(key).or_insert_with(|| loss.clone());
            if loss.lost() > largest.lost() {
                *largest = loss;
            }
        }
        let mut losses: Vec<FleetLoss> = losses.into_values().collect();
        losses.sort_by_key(|loss| std::cmp::Reverse(loss.lost()));
        losses
    }

    /// Takes the release of a person: the present numbers are the reference, also for the next leader.
    pub fn release(&mut self, at: DateTime<Utc>) {
        for NotedPair { pair, .. } in &mut self.pairs {
            pair.past = vec![(pair.now, at)];
        }
        self.set_at = None;
        self.of = self.of.saturating_sub(self.lost);
        self.lost = 0;
        self.leased.clear();
    }
}
