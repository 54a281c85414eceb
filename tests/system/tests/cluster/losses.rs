//! Parts of a cluster that die, stand still, or come back with old data.

mod consent_steps;
mod database_outage;
mod failover;
mod killed_phases;
mod own_lock;
mod restore;
mod returned_worker;
mod standstill;
mod takeover;
mod vanished_fleet;
mod waiting_runs;
mod worker_loss;
