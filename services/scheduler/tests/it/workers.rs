//! Workers, their leases, and the runs that wait for them.

mod drains;
mod lease_proofs;
mod leases;
mod plans;
mod registrations;
mod remote_runs;
mod settings;
mod unschedulable;
mod waits;
