//! What the processes of a cluster may do, and whom they trust.

mod policies;
mod registrations;
mod roles;
mod server_roles;
mod tls;
