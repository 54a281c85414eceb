//! Leases of runs and of the leadership, the workers, and the end of lost leases.

pub mod leadership;
pub mod leases;
pub(crate) mod reclaim;
pub(crate) mod release_all;
pub(crate) mod set_back;
pub mod workers;
