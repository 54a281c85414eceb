//! Leases, the leadership and workers.

pub mod capabilities;
pub mod concurrency;
pub mod fences;
pub mod groups;
pub mod leadership;
pub mod lease;
pub mod losses;
pub mod workers;
