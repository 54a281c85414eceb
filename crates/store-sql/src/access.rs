//! Tokens, sessions, and records of calls.

pub mod audit;
pub mod sessions;
pub mod tokens;
