//! Several replicas, their configurations and their database.

mod brake;
mod configurations;
mod crowded_connection;
mod database_health;
mod hiccups;
mod membership;
mod modes;
mod replicas;
mod restored;
