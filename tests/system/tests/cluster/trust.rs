//! Roles of the processes of a cluster, and the certificates that they trust.

mod policies;
mod registrations;
mod roles;
mod server_roles;
mod tls;
