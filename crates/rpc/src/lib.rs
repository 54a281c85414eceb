//! What every gRPC client and server of cts shares: conversions between the domain of `cts-core` and
//! the messages of `cts-proto`, the in-memory transport of the embedded mode, and servers with health
//! checking and reflection.
//!
//! It knows no service: who answers a call is not its business. Start with [`Endpoints`] for a server
//! and [`memory_transport`] or [`connect`] for a client.

mod chunk;
mod client;
pub mod convert;
mod memory;
mod server;

pub use chunk::{CHUNK_BYTES, chunks};
pub use client::{InvalidAddress, connect};
pub use convert::ConversionError;
pub use memory::{MemoryListener, memory_transport};
pub use server::Endpoints;
