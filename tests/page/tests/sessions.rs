//! Logins, and the sessions that they make.

mod certificate;
mod ended_sessions;
mod issuer;
mod login;
mod other_servers;
