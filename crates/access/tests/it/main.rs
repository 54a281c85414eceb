//! Tokens of a real issuer, whose keys and signatures `openssl` makes.

mod documents;
mod fixture;
mod outages;
mod roles;
mod rotation;
mod tokens;
