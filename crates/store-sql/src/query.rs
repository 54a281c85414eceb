//! Statements, their values, and the connections that run them.

pub(crate) mod conditions;
pub(crate) mod connection;
pub(crate) mod dialect;
pub(crate) mod statement;
pub(crate) mod value;
