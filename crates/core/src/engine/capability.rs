//! Requirements of a run, and capabilities of a worker.
//!
//! A run is leased only to a worker that has its driver or engine (in the exact version if the task names a version)
//! and, if the module comes as a bundle, can fetch bundles. The worker also needs the settings of the input
//! (`settings`); the lease checks them by the data that the leader stored.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The driver of a task that does not name a driver.
pub const DEFAULT_DRIVER: &str = "terraform";

/// The driver whose runs take place on a server.
pub const REMOTE_DRIVER: &str = "terraform-cloud";

/// Capabilities that a run requires of the worker that leases it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Requirement {
    /// Driver, by the label of its block; for a driver with several engines, the name of the engine
    /// ([`EngineKind::driver`](crate::EngineKind::driver)).
    pub driver: String,
    /// Exact version of the engine, as the engine reports it; `None` for any.
    pub version: Option<String>,
    /// Whether the module comes as a bundle.
    pub bundle: bool,
    /// Why the local module cannot be used. No worker gets a run of a task with such a module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable_module: Option<String>,
}

impl Requirement {
    /// Requirement of a run that only ends its remote run.
    pub fn of_remote_driver() -> Self {
        Self {
            driver: REMOTE_DRIVER.to_owned(),
            ..Self::default()
        }
    }
}

impl Default for Requirement {
    fn default() -> Self {
        Self {
            driver: DEFAULT_DRIVER.to_owned(),
            version: None,
            bundle: false,
            unusable_module: None,
        }
    }
}

/// A program with which a worker can run tasks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Engine {
    /// Driver by which a [`Requirement`] names the engine.
    pub driver: String,
    /// Its version.
    pub version: String,
}

/// Capabilities of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Capabilities {
    /// Available programs, in any order.
    pub engines: Vec<Engine>,
    /// Whether the worker can fetch module bundles.
    pub bundles: bool,
}

/// A capability that a worker lacks for a run. Displayed as text in logs and explanations (P10).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MissingCapability {
    /// No engine of this driver.
    #[error("no engine for driver {driver:?}")]
    Driver {
        /// The driver.
        driver: String,
    },
    /// Engines of the driver exist, but not in this version.
    #[error("no version {version} for driver {driver:?}, only {}", Listed(at_hand))]
    Version {
        /// The driver.
        driver: String,
        /// The required version.
        version: String,
        /// Versions that the worker has, in the order of its list.
        at_hand: Vec<String>,
    },
    /// The worker cannot fetch module bundles.
    #[error("no module bundles")]
    Bundles,
}

impl Capabilities {
    /// Whether the worker can run on a server (driver `terraform-cloud`).
    pub fn has_remote_driver(&self) -> bool {
        let mut engines = self.engines.iter();
        engines.any(|engine| engine.driver == REMOTE_DRIVER)
    }

    /// Whether a worker with these capabilities can work on a run with this `requirement`; if not, the first missing
    /// capability.
    pub fn can_run(&self, requirement: &Requirement) -> Result<(), MissingCapability> {
        let versions: Vec<&str> = self
            .engines
            .iter()
            .filter(|engine| engine.driver == requirement.driver)
            .map(|engine| engine.version.as_str())
            .collect();
        if versions.is_empty() {
            return Err(MissingCapability::Driver {
                driver: requirement.driver.clone(),
            });
        }
        if let Some(version) = &requirement.version
            && !versions.contains(&version.as_str())
        {
            return Err(MissingCapability::Version {
                driver: requirement.driver.clone(),
                version: version.clone(),
                at_hand: versions.into_iter().map(str::to_owned).collect(),
            });
        }
        if requirement.bundle && !self.bundles {
            return Err(MissingCapability::Bundles);
        }
        Ok(())
    }
}

struct Listed<'a>(&'a [String]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(engines: &[(&str, &str)], bundles: bool) -> Capabilities {
        let engines = engines
            .iter()
            .map(|&(driver, version)| Engine {
                driver: driver.into(),
                version: version.into(),
            })
            .collect();
        Capabilities { engines, bundles }
    }

    fn lacks(worker: &Capabilities, requirement: &Requirement) -> Option<String> {
        worker.can_run(requirement).err().map(|it| it.to_string())
    }

    #[test]
    fn the_default_asks_for_terraform_of_any_version() {
        let any = Requirement::default();
        assert_eq!(lacks(&worker(&[("terraform", "1.9.8")], false), &any), None);
        assert_eq!(
            lacks(&worker(&[("terraform-cloud", "1")], true), &any),
            Some(r#"no engine for driver "terraform""#.into())
        );
        assert_eq!(
            lacks(&Capabilities::default(), &any),
            Some(r#"no engine for driver "terraform""#.into())
        );
    }

    #[test]
    fn a_version_is_exact_and_of_the_same_driver() {
        let pinned = Requirement {
            version: Some("1.9.8".into()),
            ..Requirement::default()
        };
        let both = [("terraform", "1.5.7"), ("terraform", "1.9.8")];
        assert_eq!(lacks(&worker(&both, false), &pinned), None);
        let elsewhere = [
            ("terraform", "1.9.80"),
            ("terraform", "1.5.7"),
            ("other", "1.9.8"),
        ];
        assert_eq!(
            lacks(&worker(&elsewhere, false), &pinned),
            Some(r#"no version 1.9.8 for driver "terraform", only 1.9.80, 1.5.7"#.into())
        );
    }

    #[test]
    fn a_bundle_asks_for_a_worker_that_fetches_them() {
        let bundled = Requirement {
            bundle: true,
            ..Requirement::default()
        };
        let engines = [("terraform", "1.9.8")];
        assert_eq!(lacks(&worker(&engines, true), &bundled), None);
        assert_eq!(
            lacks(&worker(&engines, false), &bundled),
            Some("no module bundles".into())
        );
    }
}
