//! Behaviour that one service decides alone (the client of Consul, the worker, the gateway), whatever the shape and the
//! store: these tests run once, as one process.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

pub(crate) mod aliases_and_ports;
mod conditions;
mod consul_environment;
mod datacenters;
mod dynamic_values;
mod foreign_page;
mod handlers;
mod hostile;
mod inherited_variables;
mod judged_destructions;
mod large_states;
mod mesh_services;
mod module_variables;
mod named_ports;
mod odd_requests;
pub(crate) mod providers;
mod refused_keys;
pub(crate) mod registry_module;
mod reported_cases;
mod served_document;
mod stock_client;
mod stock_program;
mod token_rights;
pub(crate) mod vault;
