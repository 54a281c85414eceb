//! The fault suite: a whole system with a real Consul, a real database and Terraform. Its catalog and tasks
//! change while its processes are killed, stopped and restarted at random, its dependencies fail, and
//! connections break; a checker then proves from the evidence that nothing forbidden happened.
//!
//! A [`Plan`] follows from a seed: equal seeds make equal faults, changes and writes. [`run_plan`] applies it
//! to a system and returns a [`Report`]. The evidence is independent of the statements of cts about itself:
//! journals that the modules write ([`journal`]), Terraform's states ([`resources`](observed::resources)), every start of Terraform
//! ([`terraform`]), its processes seen from outside ([`sightings`](observed::sightings)), every write to the database as triggers
//! have kept it ([`audit`]), the writes that Consul confirmed ([`wanted`]), and the API's promises ([`writes`])
//! and answers ([`history`](observed::history)). The checks are pure, and each has tests with made-up evidence.
#![warn(missing_docs)]
#![expect(
    clippy::unwrap_used,
    reason = "this is test code: what cannot go on must fail the test, with a clear text"
)]

pub mod audit;
mod between;
mod campaign;
mod clock;
mod conditions;
mod database;
mod evidence;
pub mod journal;
mod judge;
mod module;
pub mod observed;
mod plan;
pub mod processes;
mod random;
mod report;
mod scene;
pub mod server;
mod suite;
mod system;
pub mod terraform;
mod violation;
pub mod wanted;
pub mod writes;

pub use conditions::{Kind, Watched};
pub use plan::{
    Blow, Cancel, Change, Decision, Declaration, End, Engine, Extent, Fault, Instance, Lock,
    MEMBERS, Member, Misbehaviour, Plan, Round, ServerFault, Setup, Shape, Size, Target, Tasks,
    Wire, Write,
};
pub use random::Random;
pub use report::{Report, say};
pub use suite::{Course, run_plan};
pub use violation::{Rule, Violation};
