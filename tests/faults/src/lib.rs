//! The fault suite: a whole cluster with a real Consul, Postgres and Terraform, whose catalog changes while its
//! processes are killed, stopped and restarted at random, and a checker that proves from what was written
//! down that nothing happened which must not (spec/ha.md 3 and 5).
//!
//! A [`Plan`] is what a seed makes: the same seed, the same faults and changes. [`carry_out`] does it to a
//! cluster and returns a [`Report`]. The evidence is independent of what cts says of itself: journals
//! that the modules write ([`journal`]), Terraform processes seen from outside ([`sightings`]), every write
//! to the database as triggers have kept it ([`audit`]), the answers of the API ([`history`]), and what
//! Consul confirmed ([`wanted`]). The checks are pure, and each has tests with made-up evidence.
#![warn(missing_docs)]
#![expect(
    clippy::unwrap_used,
    reason = "this is test code: what cannot go on must fail the test, with a clear text"
)]

pub mod audit;
mod campaign;
mod evidence;
pub mod history;
pub mod journal;
mod judge;
mod module;
mod plan;
mod random;
mod report;
mod scene;
pub mod sightings;
mod suite;
mod violation;
pub mod wanted;

pub use plan::{Blow, Change, Fault, Instance, MEMBERS, Plan, Size, Target};
pub use random::Random;
pub use report::{Report, say};
pub use suite::{Course, carry_out};
pub use violation::{Rule, Violation};
