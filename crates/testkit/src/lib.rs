//! What tests of several crates share: a real Consul, a clock that stands still, polling with a
//! deadline, free ports, and where the outside programs are.
//!
//! A dev-dependency only. It panics where a test cannot go on, with what to do about it. Start with
//! [`ConsulAgent`] and [`eventually`].
#![warn(missing_docs)]
#![expect(
    clippy::panic,
    reason = "this is test code: what cannot go on must fail the test, with a clear text"
)]

mod clock;
mod consul;
mod eventually;
mod ports;
mod programs;

pub use clock::ManualClock;
pub use consul::ConsulAgent;
pub use eventually::eventually;
pub use ports::free_port;
pub use programs::{consul_path, terraform_path};
