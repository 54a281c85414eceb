//! Access control of listeners: rules for methods, and the callers of calls (docs/access.md#services).

mod caller;
mod check;
mod layer;
mod lease;
mod peer;
mod table;

pub use caller::{CALLER_METADATA, CallContext, rights};
pub use check::AccessRules;
pub(crate) use layer::AccessLayer;
pub use lease::{LEASE_METADATA, lease_proof, with_lease_proof};
pub(crate) use peer::Identified;
pub use peer::{ConnectedPeer, PeerIdentity};
pub(crate) use table::method;
pub use table::{METHODS, Method, Rule, role};
