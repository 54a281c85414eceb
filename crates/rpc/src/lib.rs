//! Shared parts of every gRPC client and server of cts: conversions between the domain of `cts-core` and the
//! messages of `cts-proto`, the transports (in memory for the embedded mode, TCP, TLS), finding and balancing
//! over the replicas of a service, and servers with health checking and reflection.
//!
//! The crate contains no service, and spawns no tasks: loops are returned as futures that the caller drives. Start with
//! [`Endpoints`] for a server, and with [`Peers`] or [`memory_transport`] for a client.
#![warn(missing_docs)]

mod address;
pub mod admission;
mod call_failure;
mod call_limit;
mod chunk;
mod client;
mod connection;
pub mod convert;
mod database_outage;
mod health;
mod incoming;
mod memory;
mod metrics;
mod paced;
mod peers;
mod server;
mod tls;
mod trace;
mod transport_rule;

pub use address::{Address, AddressProblem, InvalidAddress};
pub use call_failure::CallFailure;
pub use chunk::{CHUNK_BYTES, PLAN_BYTES, TASK_BYTES, chunks};
pub use client::{connect, connect_tls};
pub use convert::ConversionError;
pub use cts_tls::{IdentityFiles, ServerTls, TlsError};
pub use database_outage::DATABASE_UNREACHABLE;
pub use health::{HealthSwitch, serves};
pub use memory::{MemoryListener, memory_transport, memory_transports};
pub use metrics::CallMetrics;
pub use paced::Paced;
pub use peers::{Peer, PeerCondition, Peers, PeersDriver, PeersError, ProbeTimes};
pub use server::Endpoints;
pub use tls::{ClientTls, ClientTlsFiles, ServerRule, TlsFiles};
pub use trace::{TRACE_METADATA, set_trace_context, trace_context};
pub use transport_rule::{PlainTextRefused, TransportRule};
