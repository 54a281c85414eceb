//! Clusters at work: several watchers, schedulers, workers and gateways as built executables, over a real
//! Postgres, with a real Consul and a real Terraform.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod broken_runs_log;
mod capabilities;
mod cluster_status;
mod configurations;
mod database_outage;
mod drain;
mod embedded_replicas;
mod failover;
mod fresh_inputs;
mod grpc_document;
mod killed_phases;
mod local_backend;
mod log_marks;
mod lost_destructions;
mod lost_processes_log;
mod lost_states;
mod metrics;
mod modules;
mod outage_log;
mod own_lock;
mod policies;
mod prompt_answers;
mod registrations;
mod restore;
mod returned_worker;
mod roles;
mod rolling_restart;
mod scene;
mod server_roles;
mod settings;
mod sick_workers;
mod stand_in;
mod standstill;
mod takeover;
mod tls;
mod traces;
mod worker_loss;
