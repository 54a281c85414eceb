//! Reads HCL version 1, the language of the configuration files (docs/configuration.md#hcl).
//!
//! [`parse`] turns the bytes of one file into a tree in which every node knows its place in the
//! source, so that its user can point at the exact spot of a problem.
//!
//! This crate knows syntax only, without any block or key of the configuration, how repeated keys are joined,
//! how values are converted, or where files come from. Templates and `${...}` are plain text to it.
//!
//! Two promises hold for any input, however hostile: reading takes time linear in its length, and
//! neither a panic nor an exhausted stack is possible, because nesting is limited to
//! [`MAXIMUM_DEPTH`].
//!
//! Start from [`parse`], [`Body`] and [`ParseError`].

mod ast;
mod error;
mod lexer;
mod parser;
mod source;

pub use ast::{Body, Item, Key, Number, Span, Value, ValueKind};
pub use error::ParseError;
pub use parser::{MAXIMUM_DEPTH, parse};
