//! Tokens, and records of calls.

pub mod audit;
pub mod tokens;
