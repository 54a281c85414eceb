//! The brake of the fleet: what all enabled tasks lose together (docs/runs.md#the-brake-of-the-fleet).

mod fleet_numbers;
mod noted;
mod pair;
mod setting;

pub use self::fleet_numbers::{FleetNumbers, FleetTotals};
pub use self::noted::{BrakedRun, FleetLoss, NotedFleet, NotedPair};
pub use self::pair::Pair;
pub use self::setting::FleetMaxShrink;
