//! Workers, their leases, the runs that wait for them, and the consent that they ask for.

pub(crate) mod approvals;
mod drains;
mod inputs;
mod known_runs;
mod lease_proofs;
mod leases;
mod plans;
mod registrations;
mod remote_runs;
mod settings;
mod unschedulable;
mod waits;
