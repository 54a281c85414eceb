//! Tokens of a real issuer, whose keys and signatures `openssl` makes.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod documents;
mod fixture;
mod logins;
mod outages;
mod roles;
mod rotation;
mod tokens;
